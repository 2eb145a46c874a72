import pytest

from gssl.selection import Entry, Leaderboard
from gssl.selection.leaderboard import in_order

ENTRIES = [
    Entry("SGC", "depth=2", 0.8, 0.04, 0.3, 0.01, True),
    Entry("no graph", "", 0.9, 0.03, 0.5, 12.5, False),
    Entry("PPR", "alpha=0.1", 0.8, 0.04, 0.2, 0.02, True),
]


def test_the_best_score_comes_first_and_ties_go_by_the_log_loss():
    assert [entry.model for entry in in_order(ENTRIES)] == ["no graph", "PPR", "SGC"]


def test_numbers_stand_below_each_other():
    assert str(in_order(ENTRIES)).splitlines() == [
        "model     settings        score  seconds  chosen",
        "no graph             90.0 ± 3.0    12.50",
        "PPR       alpha=0.1  80.0 ± 4.0     0.02  *",
        "SGC       depth=2    80.0 ± 4.0     0.01  *",
    ]


def test_it_is_a_sequence_and_a_part_of_it_is_another():
    board = Leaderboard(ENTRIES)
    assert board[1:] == Leaderboard(ENTRIES[1:])
    assert hash(board[:2]) == hash(Leaderboard(ENTRIES[:2]))
    assert board != ENTRIES
    assert ENTRIES[2] in board


def test_it_converts_to_any_data_frame():
    board = Leaderboard(ENTRIES)
    assert board.to_pandas()["score"].tolist() == [0.8, 0.9, 0.8]
    assert board.to_frame("polars")["model"].to_list() == board.to_dict()["model"]
    assert board.to_records()[2]["settings"] == "alpha=0.1"
    assert list(board.to_records()[0]) == list(board.to_dict())
    with pytest.raises(ValueError, match="nothing"):
        board.to_frame("nothing")
