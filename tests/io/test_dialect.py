"""Detection of separators, headers and other properties of text files."""

import pytest

from gssl.io.dialect import sniff_dialect


@pytest.mark.parametrize(
    ("text", "delimiter", "skip", "header", "names", "sure"),
    [
        ("source;target\n007;8\n", ";", 0, True, ("source", "target"), True),
        ("# one\n% two\n1\t2\n", "\t", 2, False, ("column1", "column2"), True),
        ("who,1,2\nx,5,6\n", ",", 0, True, ("who", "1", "2"), False),
        ("who,7,9\nx,5,6\n", ",", 0, False, ("column1", "column2", "column3"), False),
        ("alice,bob\nbob,carol\n", ",", 0, False, ("column1", "column2"), False),
        ("alice,bob\ncarol,dave\n", ",", 0, True, ("alice", "bob"), False),
        ("P1,P22\nP3,P4\nP5,P6\nP7,P8\n", ",", 0, False, ("column1", "column2"), False),
        ("u,v\nv,w\n", ",", 0, False, ("column1", "column2"), False),
        ("u,v\n1,2\n", ",", 0, True, ("u", "v"), True),
        ("a,b,w\na,c,1\n", ",", 0, True, ("a", "b", "w"), True),
        ("age , city\n 3 , x\n", ",", 0, True, ("age", "city"), True),
        ("#source,target\n1,2\n", ",", 0, True, ("source", "target"), True),
        ("#cats,#dogs\n#dogs,#birds\n", ",", 0, False, ("column1", "column2"), False),
        ("#Nodes: 3\n1 2\n", " ", 1, False, ("column1", "column2"), True),
        ("%%MatrixMarket matrix\n% by hand\n3 3 2\n1 2\n2 3\n", " ", 3, False, ("column1", "column2"), True),
    ],
)
def test_the_first_rows_tell_the_layout(write, text, delimiter, skip, header, names, sure):
    dialect = sniff_dialect(write("e.txt", text))
    assert (dialect.delimiter, dialect.skip, dialect.header, dialect.names, dialect.sure) == (
        delimiter,
        skip,
        header,
        names,
        sure,
    )


def test_a_column_without_a_name_is_refused(write):
    with pytest.raises(ValueError, match="column 3 has no name; give it one"):
        sniff_dialect(write("e.csv", "id,x,\na,1,2\n"))
