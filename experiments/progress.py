"""Progress bars."""

from typing import Any


class _Silent:
    """Stands in for a bar where tqdm is not installed."""

    def update(self, amount: float = 1) -> None: ...

    def set_postfix_str(self, text: str) -> None: ...

    def close(self) -> None: ...


def bar(total: float, description: str, **options: Any) -> Any:
    """A tqdm bar with rate and time left; nothing is shown where tqdm (extra `train`) is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _Silent()
    return tqdm(total=total, desc=description, **options)
