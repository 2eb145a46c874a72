"""How text files are laid out."""

import pytest

from gssl.io.dialect import sniff_dialect


@pytest.mark.parametrize(
    ("text", "delimiter", "skip", "header", "names", "sure"),
    [
        ("source;target\n007;8\n", ";", 0, True, ("source", "target"), True),
        ("# one\n% two\n1\t2\n", "\t", 2, False, ("column1", "column2"), True),
        ("who,1,2\nx,5,6\n", ",", 0, True, ("who", "1", "2"), False),
        ("who,7,9\nx,5,6\n", ",", 0, False, ("column1", "column2", "column3"), False),
        ("alice,bob\nbob,carol\n", ",", 0, True, ("alice", "bob"), False),
    ],
)
def test_the_first_rows_tell_the_layout(write, text, delimiter, skip, header, names, sure):
    found = sniff_dialect(write("e.txt", text))
    assert (found.delimiter, found.skip, found.header, found.names, found.sure) == (
        delimiter,
        skip,
        header,
        names,
        sure,
    )


def test_a_column_without_a_name_is_refused(write):
    with pytest.raises(ValueError, match="column 3 has no name; give it one"):
        sniff_dialect(write("e.csv", "id,x,\na,1,2\n"))
