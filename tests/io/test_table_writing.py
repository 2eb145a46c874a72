import pytest

from gssl.io.table_writing import refuse_overwrite


def test_an_input_is_never_replaced(tmp_path, monkeypatch):
    file = tmp_path / "e.csv"
    file.write_text("a,b\n")
    (tmp_path / "link.csv").symlink_to(file)
    (tmp_path / "hard.csv").hardlink_to(file)
    monkeypatch.chdir(tmp_path)
    for out in ("e.csv", tmp_path / "sub" / ".." / "e.csv", "link.csv", "hard.csv"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        for source in (file, "e.csv", "*.csv", "**/e.csv", "SELECT * FROM 'e.csv'", 'select * from "e.csv"'):
            with pytest.raises(ValueError, match="is an input"):
                refuse_overwrite(out, [None, source])


def test_other_outputs_are_free(tmp_path):
    file = tmp_path / "e.csv"
    file.write_text("a,b\n")
    sources = [file, str(tmp_path / "*.csv"), f"SELECT * FROM '{file}'", None, 7, "SELECT 'x' AS id"]
    refuse_overwrite(tmp_path / "p.parquet", sources)
    refuse_overwrite(tmp_path / "p.csv", [tmp_path / "missing.csv"])
    with pytest.raises(ValueError, match="is an input"):
        refuse_overwrite(file, [tmp_path / "e.csv", tmp_path / "missing.csv"])
