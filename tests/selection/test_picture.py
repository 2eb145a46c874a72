import re
from xml.etree import ElementTree

import pytest

from gssl.selection.picture import Mark, draw_neighbourhood
from gssl.selection.why import Voice
from gssl.wording import elided

VOICES = [
    Voice(1, "a", 0.6, ()),
    Voice(4, "a", 0.3, (2,)),
    Voice(5, "a", 0.1, (2, 3)),
    Voice(6, "b", -0.2, None),
    Voice(7, "b", -0.1, (10, 11, 12, 13)),
]


def mark(node):
    return Mark(f"n{node}", "b" if node in (6, 7) else "a", int(node in (6, 7)), node != 2)


def draw(voices=VOICES, mark=mark, **more):
    return ElementTree.fromstring(draw_neighbourhood(0, "a", "b", voices, mark, **more))


def test_every_speaking_label_has_a_row_and_links_lead_to_it():
    picture = draw()
    texts = [text.text or text[0].tail for text in picture.iter("text")]
    assert [text for text in texts if text.startswith("for ")] == ["for a", "for b"]
    for voice in VOICES:
        assert any(text and text.startswith(f"n{voice.node}  ") for text in texts)
        assert f"{voice.share:+.2g}".replace("-", "−") in texts
    # 0-1, 0-2, 2-4, 2-3, 3-5; node 2 is on two paths and drawn once
    kinds = [path.get("class") for path in picture.iter("path")]
    assert kinds.count("link") == 5
    # labels without a path, or with a long one
    assert kinds.count("apart") == 2
    circles = list(picture.iter("circle"))
    assert len(circles) == 8
    assert [c.get("class") for c in circles].count("guess") == 1


def test_the_width_of_a_link_is_the_share_that_goes_through_it():
    widths = [float(p.get("stroke-width")) for p in draw().iter("path") if p.get("class") == "link"]
    assert sorted(widths, reverse=True)[:2] == pytest.approx([4.0, 3.0])


def test_only_the_strongest_are_drawn_and_none_gives_no_picture():
    many = [Voice(k, "a", 1.0 / k, ()) for k in range(1, 9)]
    assert len(list(draw(many).iter("circle"))) == 5
    assert draw_neighbourhood(0, "a", "b", [], mark) == ""


def test_a_label_of_its_own_needs_no_link():
    picture = draw([Voice(0, "a", 0.5, ())])
    assert len(list(picture.iter("circle"))) == 1
    assert [p.get("class") for p in picture.iter("path")] == ["lead"]


def test_names_are_escaped_and_colours_are_variables():
    hostile = "</text><script>alert(1)</script>"
    svg = draw_neighbourhood(0, hostile, "b", VOICES, lambda _: Mark(hostile, hostile, 0, True), ["#123456"])
    assert "<script" not in svg
    assert svg.count('style="--color:#123456"') == 8
    assert re.search("data-code=.0.", svg)


def test_long_names_are_cut_in_the_middle():
    assert elided("Machine_Learning/Theory", 12) == "Mach…/Theory"
    assert elided("a\nb", 12) == "a b"
    assert elided("short", 12) == "short"
