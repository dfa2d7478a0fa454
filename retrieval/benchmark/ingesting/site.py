"""A folder of HTML pages, served in a process of its own with a sitemap of some of them.

`/sitemap.xml` lists as many of the folder's pages as are asked for, spread over all of them. Prints
its port, then serves until it is ended.

    python -m retrieval.benchmark.ingesting.site FOLDER PAGES
"""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

SITEMAP = "/sitemap.xml"


def pages_of(folder: Path, most: int) -> list[str]:
    """Paths from the top of the site, at most so many, in their order."""
    found = sorted(path for path in folder.rglob("*.htm*") if path.is_file())
    step = max(1.0, len(found) / most)
    chosen = [found[int(n * step)] for n in range(min(most, len(found)))]
    return [quote(f"/{path.relative_to(folder).as_posix()}") for path in chosen]


def sitemap(paths: list[str], address: str) -> bytes:
    entries = "".join(f"<url><loc>http://{address}{path}</loc></url>" for path in paths)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0"?><urlset xmlns="{space}">{entries}</urlset>'.encode()


class Site(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path, most: int) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Request, directory=str(folder)))
        self.sitemap = sitemap(pages_of(folder, most), f"127.0.0.1:{self.server_port}")


class _Request(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Site

    def do_GET(self) -> None:
        if self.path != SITEMAP:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(self.server.sitemap)))
        self.end_headers()
        self.wfile.write(self.server.sitemap)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


def main(folder: str, pages: str) -> None:
    server = Site(Path(folder), int(pages))
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
