"""
A test
======

x
"""
import altair as alt
print(1)
chart = alt.Chart(alt.InlineData(values=[{"a":1,"b":2},{"a":2,"b":3}])).mark_line().encode(x="a:Q",y="b:Q")
