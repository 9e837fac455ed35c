from __future__ import annotations

import subprocess
import sys


def test_the_plain_data_of_a_ledger_loads_no_database_library() -> None:
    code = "import sys; from dither.ledger import Receipt, ReservationRequest; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_ledger_itself_loads_on_first_use() -> None:
    import dither.ledger
    from dither.ledger.ledger import Ledger

    assert dither.ledger.Ledger is Ledger
