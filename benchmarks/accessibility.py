"""Hold the pages of every verb, and those of the site, against axe-core in Chromium.

    npm pack axe-core && tar xzf axe-core-*.tgz
    python benchmarks/accessibility.py package/axe.min.js [--pictures FOLDER] [PAGE …]

A page is a file, the address of one, or a folder, of which all pages are served: a site does
without its search where it is read from files. Without pages, those of all verbs are made first.
Light and dark, 390 and 1280 pixels wide; what is serious or worse, or wider than the window, makes
it exit with 1.
"""

import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlparse

from playwright.sync_api import sync_playwright

SERIOUS = ("serious", "critical")
MECHANISM = "def half(data, rng):\n    return sum(data) + rng.laplace(scale=0.5)\n"
SCHEMA = (
    '{"kind": "records", "length": [0, 3], "relation": "add-remove", '
    '"record": {"kind": "number", "low": 0, "high": 1}}'
)
RELATION = ["--relation", "add-remove"]
PAIR = ["--left", "left.json", "--right", "right.json", "--epsilon", "1"]
LINES = {
    "compose": ["compose", "gaussian(5)*10", "--delta", "1e-6", *RELATION],
    "noise": ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--l2-sensitivity", "1"],
    "audit": ["audit", "mine.py:half", *PAIR],
    "trace": ["trace", "mine.py:half", *PAIR],
    "decide": ["decide", "mine.py:half", "--schema", "schema.json", "--epsilon", "1"],
    "disclose": ["disclose", "gaussian(50)", "--delta", "1e-6", *RELATION, "--output", "d.json"],
    "check": ["check", "d.json"],
    "fit": ["fit", "data.csv", "--target", "y", "--epsilon", "1", "--norm-bound", "1"],
    "prove": ["prove", "laplace"],
    "ledger": ["ledger", "status", "b.ledger"],
    "merge": ["merge", "draws-1", "--into", "draws"],
    "demo": ["demo"],
}


def make_pages(folder: Path) -> list[Path]:
    """A page of every verb."""
    (folder / "mine.py").write_text(MECHANISM)
    (folder / "left.json").write_text("[0, 1]")
    (folder / "right.json").write_text("[1, 1]")
    (folder / "schema.json").write_text(SCHEMA)
    rows = [f"{x / 40 - 0.5},{1 if x > 20 else -1}" for x in range(40)]
    (folder / "data.csv").write_text("\n".join(["x,y", *rows]))
    command = [sys.executable, "-m", "dpverify"]
    lines = [
        ["ledger", "open", "b.ledger", "--epsilon", "3", *RELATION],
        ["audit", "mine.py:half", *PAIR, "--share", "1/9", "--checkpoint", "draws-1"],
    ]
    lines += [[*line, "--report", f"{verb}.html"] for verb, line in LINES.items()]
    for line in lines:
        subprocess.run([*command, *line], cwd=folder, check=False, capture_output=True)
    return [folder / f"{verb}.html" for verb in LINES]


def addresses(page: str) -> list[str]:
    """A file's address; of a folder, those of its pages, from a server that ends with us."""
    if page.startswith("http"):
        return [page]
    path = Path(page).resolve()
    if not path.is_dir():
        return [path.as_uri()]
    handler = functools.partial(Silent, directory=path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    return [f"{root}/{each.relative_to(path)}" for each in sorted(path.rglob("*.html"))]


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def named(page: str) -> str:
    """For the picture of a page: its path, with hyphens."""
    return "-".join(Path(urlparse(page).path).with_suffix("").parts[1:][-2:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("axe", type=Path)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_intermixed_args()
    folder = Path(tempfile.mkdtemp())
    asked = given.pages or make_pages(folder)
    pages = [address for page in asked for address in addresses(str(page))]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    axe, bad = given.axe.read_text("utf-8"), 0
    with sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu"] if os.name == "posix" else []
        browser = started.chromium.launch(executable_path=chromium, args=flags)
        for page in pages:
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    context = browser.new_context(
                        viewport={"width": width, "height": 900},
                        color_scheme=scheme,
                        bypass_csp=True,
                    )
                    tab = context.new_page()
                    tab.goto(page)
                    tab.add_script_tag(content=axe)
                    found = tab.evaluate("axe.run()")["violations"]
                    root = "document.documentElement"
                    wide = tab.evaluate(f"{root}.scrollWidth > {root}.clientWidth")
                    serious = [each for each in found if each["impact"] in SERIOUS]
                    bad += len(serious) + wide
                    told = "; ".join(f"{each['impact']}: {each['id']}" for each in found) or "none"
                    print(f"{page} {width} {scheme}: {told}{', too wide' if wide else ''}")
                    for each in serious:
                        print("   ", each["help"], "|", each["nodes"][0]["html"][:160])
                    if given.pictures:
                        given.pictures.mkdir(exist_ok=True)
                        name = f"{named(page)}-{width}-{scheme}.png"
                        tab.screenshot(path=given.pictures / name, full_page=True)
                    context.close()
        browser.close()
    print(f"serious or worse, or too wide: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
