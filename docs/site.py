#!/usr/bin/env python3
"""The documents as a static site: each README and page of the manual is a page, with a list of all pages, a search
that needs no server, and every link checked.

usage: site.py SOURCE_ROOT OUT"""

import glob
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

SYSTEM = "/usr/bin/python3"  # which has the package python3-markdown of the system
try:
    import markdown
except ImportError:
    if sys.executable != SYSTEM and os.path.exists(SYSTEM):
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    print("site.py: there is no module markdown: install the package python3-markdown")
    sys.exit(77)
if not shutil.which("mandoc"):
    print("site.py: there is no mandoc: install the package mandoc")
    sys.exit(77)

root, out = (os.path.abspath(path) for path in sys.argv[1:3])
here = os.path.dirname(os.path.abspath(__file__))
GROUPS = (
    ("Start", ("README.md", "INSTALL.md", "NEWS.md", "examples/README.md", "examples/*/README.md")),
    ("The command", ("man/pprofdelta.1", "man/pprofdelta-*.1")),
    ("Formats", ("man/*.5",)),
    ("C", ("man/*.3",)),
    ("Other languages", ("bindings/*/README.md", "bindings/go/PORTING.md")),
    ("How it is made", ("lib/README.md", "agent/README.md", "CONTRIBUTING.md", "tests/*/README.md", "testdata/README.md")),
    ("The project", ("VERSIONING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
)
MAN_LINK = re.compile(r"\b((?:lib)?pprofdelta[\w-]*)\((\d)\)")


class Page:
    def __init__(self, path):
        self.path = path
        self.is_man = path.startswith("man/")
        self.address = re.sub(r"(README)?\.md$", lambda m: "index.html" if m.group(1) else ".html", path)
        if self.is_man:
            self.address = path + ".html"
        self.body = self.of_man() if self.is_man else self.of_markdown()
        self.title = self.name() if self.is_man else self.heading()

    def of_man(self):
        made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", os.path.join(root, self.path)],
                              capture_output=True, text=True, check=True).stdout
        made = re.sub(r'<table class="(head|foot)">.*?</table>', "", made, flags=re.S)
        made = re.sub(r"<b>([\w-]+)</b>\s*\((\d)\)", r"\1(\2)", made)
        return f"<h1>{self.name()}</h1>" + MAN_LINK.sub(self.link_to_man, made)

    def name(self):
        return re.sub(r"\.(\d)$", r"(\1)", os.path.basename(self.path))

    def of_markdown(self):
        with open(os.path.join(root, self.path)) as file:
            text = file.read()
        made = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "md_in_html"])
        made = "".join(part if part.startswith("<pre>") else MAN_LINK.sub(self.link_to_man, part)
                       for part in re.split(r"(<pre>.*?</pre>)", made, flags=re.S))
        return re.sub(r"(<table>.*?</table>)", r'<div class="wide">\1</div>', made, flags=re.S)

    def link_to_man(self, m):
        path = f"man/{m.group(1)}.{m.group(2)}"
        if not os.path.exists(os.path.join(root, path)):
            return m.group(0)
        return f'<a href="{self.to(path + ".html")}">{m.group(0)}</a>'

    def heading(self):
        return html.unescape(re.sub(r"<[^>]*>", "", re.search(r"<h1[^>]*>(.*?)</h1>", self.body, re.S).group(1)))

    def to(self, address):
        return os.path.relpath(address, os.path.dirname(self.address) or ".")

    def parts(self):
        """What the search finds: the text below each heading."""
        pieces = re.split(r'<h[1-3][^>]*? id="([^"]+)"[^>]*>(.*?)</h[1-3]>', self.body, flags=re.S)
        plain = (re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", piece))).strip() for piece in pieces)
        plain = list(plain)
        for name, title, text in zip(plain[1::3], plain[2::3], plain[3::3]):
            yield [f"{self.address}#{name}", self.title, title, text]


class Links(html.parser.HTMLParser):
    """The names in a page and what it refers to."""

    def __init__(self, text):
        super().__init__()
        self.names, self.found = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id":
                self.names.add(value)
            elif key in ("href", "src", "srcset"):
                self.found.append(value)


def collect():
    taken, groups = set(), []
    for name, patterns in GROUPS:
        paths = [path for pattern in patterns for path in sorted(glob.glob(pattern, root_dir=root)) if path not in taken]
        taken.update(paths)
        groups.append((name, [Page(path) for path in paths]))
    return groups


def point_to_pages(page, by_path):
    """A link to a file of the tree leads to its page; a file that is no page is copied beside them."""
    def replace(m):
        target, _, name = m.group(2).partition("#")
        if not target or "://" in target or target.endswith(".html"):
            return m.group(0)
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), target))
        if os.path.isdir(os.path.join(root, path)):
            path = os.path.join(path, "README.md")
        if path in by_path:
            return f'{m.group(1)}="{page.to(by_path[path].address)}{"#" + name if name else ""}"'
        if os.path.isfile(os.path.join(root, path)):
            os.makedirs(os.path.join(out, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(root, path), os.path.join(out, path))
        return f'{m.group(1)}="{page.to(path)}"'
    page.body = re.sub(r'\b(href|src|srcset)="([^"]*)"', replace, page.body)


def write_page(page, groups, frame):
    lists = "".join(f"<h2>{html.escape(name)}</h2><ul>" + "".join(
        f'<li><a href="{page.to(other.address)}"{" aria-current=page" if other is page else ""}>{html.escape(other.title)}</a></li>'
        for other in pages) + "</ul>" for name, pages in groups)
    made = frame
    for mark, text in (("TITLE", html.escape(page.title)), ("ROOT", page.to(".")), ("LISTS", lists), ("BODY", page.body)):
        made = made.replace(f"@{mark}@", text, 1) if mark != "ROOT" else made.replace("@ROOT@", text)
    path = os.path.join(out, page.address)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(made)


def broken_links(pages):
    names = {page.address: Links(page.body).names for page in pages}
    for page in pages:
        for link in Links(page.body).found:
            target, _, name = link.partition("#")
            if "://" in target:
                continue
            address = os.path.normpath(os.path.join(os.path.dirname(page.address), target)) if target else page.address
            if not os.path.isfile(os.path.join(out, address)):
                yield f"{page.path}: {link}: no such file"
            elif name and name not in names.get(address, ()):
                yield f"{page.path}: {link}: no such section"


def main():
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    groups = collect()
    pages = [page for _, list_of in groups for page in list_of]
    by_path = {page.path: page for page in pages}
    for page in pages:
        point_to_pages(page, by_path)
    with open(os.path.join(here, "site.html")) as file:
        frame = file.read()
    for page in pages:
        write_page(page, groups, frame)
    with open(os.path.join(out, "search.js"), "w") as file:
        file.write(f"const parts = {json.dumps([part for page in pages for part in page.parts()], ensure_ascii=False)};\n")
    for name in ("site.css", "find.js"):
        shutil.copy(os.path.join(here, name), os.path.join(out, name))
    broken = list(broken_links(pages))
    print("\n".join([*broken, f"{len(pages)} pages are in {out}", f"{len(pages)} passed, {len(broken)} failed"]))
    return 1 if broken else 0


sys.exit(main())
