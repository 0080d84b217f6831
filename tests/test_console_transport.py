"""The place of a call on the transport's track."""

from hypothesis import given
from hypothesis import strategies as st

from loopguard_console.widgets.transport import cell_of


@given(st.integers(1, 5000), st.integers(1, 200), st.data())
def test_a_calls_cell_is_where_a_click_leads_to_it(
    total: int, width: int, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, total - 1))
    cell = cell_of(row, total, width)
    assert 0 <= cell < width
    assert (
        cell * total // width <= row < max((cell + 1) * total // width, cell * total // width + 1)
    )
    assert total > width or cell * total // width == row
    assert cell_of(0, total, width) == 0


def test_the_last_call_is_at_the_end() -> None:
    assert cell_of(14, 15, 23) == 22
    assert cell_of(9_999, 10_000, 60) == 59


@given(st.integers(2, 5000), st.integers(2, 200))
def test_the_last_call_of_any_recording_is_at_the_end(total: int, width: int) -> None:
    assert cell_of(total - 1, total, width) == width - 1
