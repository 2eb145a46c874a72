import subprocess
import sys


def test_options(spoiled, refused):
    assert "Missing option '--out'" in spoiled({"--out": None})
    assert "--edges, or --knn" in spoiled({"--edges": None})
    assert "--knn works on features" in spoiled({"--edges": None, "--features": None, "--knn": "3"})
    assert "--method ogc learns from features" in spoiled({"--features": None, "--method": "ogc"})
    assert "'magic' is not one of" in spoiled({"--method": "magic"})
    assert "-1 is not in the range" in spoiled({"--seed": "-1"})
    assert "No such option" in spoiled({"--colour": "red"})
    assert "No such command 'clasify'" in refused("clasify")
    assert "No such option" in refused("--colour")
    assert "no dataset 'nope'" in refused("datasets", "fetch", "nope")
    assert "give --features" in refused("embed", "--edges", "e.csv", "--out", "u.npy")
    deep = ["embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npy", "--depth", 2, "--method"]
    assert "--depth counts iterations, of which nograph has none" in refused(*deep, "nograph")


def test_help_is_light():
    code = (
        "import sys\nfrom gssl.cli import main\nsys.argv = ['gssl', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'sklearn', 'numba', 'duckdb', 'scipy', 'numpy', 'rich', 'altair'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gssl classify --edges" in done.stdout


def test_datasets_list(run):
    assert "karate" in run("datasets", "list").stdout.splitlines()
