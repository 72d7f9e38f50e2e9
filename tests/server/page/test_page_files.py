"""The files of the page: types, caching, policy, nothing from elsewhere; syntax and pure modules checked by node."""

import posixpath
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tallybayes.server.routes.page_files import page_files

PAGE = Path(str(files("tallybayes.server").joinpath("page")))
LOGIC = Path(__file__).parent / "page_logic"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/app.js", "text/javascript; charset=utf-8"),
        ("/page/styles/base.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ],
)
def test_files_have_their_types_and_a_policy_without_inline_code(http, path, kind):
    answer = http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_file_that_the_browser_has_is_not_sent_again(http):
    first = http.get("/page/app.js")
    again = http.get("/page/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert http.get("/page/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["nothing.js", "../form_fields.py", "..%2Fform_fields.py", "%2e%2e/__init__.py", ""])
def test_only_files_of_the_page_are_sent(http, path):
    answer = http.get(f"/page/{path}")
    assert answer.status_code == 404
    assert answer.json()["expected"]


def test_the_page_is_in_its_files_only():
    found = page_files()
    in_folder = {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*.*")}
    assert set(found) == {*in_folder, "logic/nomogram_sum.js"}  # the last is shared with the report
    html = found["index.html"].content.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)|\sstyle=|<style|\son\w+=", html) == []
    scripts = {f"/page/{name}" for name in found if name.endswith(".js") and not name.startswith("reference/")}
    assert scripts == set(re.findall(r'"(/page/.*\.js)"', html))
    for name, file in found.items():
        outside = re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w.-]+\.\w+", file.content.decode())
        assert outside == [], name
        for needed in re.findall(r'from "([^"]+)"', file.content.decode()) if name.endswith(".js") else ():
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), needed)) in found, (name, needed)


def test_modules_are_small():
    long = {name: file.content.count(b"\n") for name, file in page_files().items() if file.content.count(b"\n") > 250}
    assert long == {}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The page as a package of modules, for node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the JavaScript of the page is not checked")
    folder = tmp_path_factory.mktemp("modules") / "page"
    for name, file in page_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.content)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_every_module_has_valid_syntax(modules):
    scripts = sorted(modules.rglob("*.js"))
    assert len(scripts) > 20
    (modules / "broken.js").write_text("import { a from 'b';")
    parse = """
    import { readFileSync } from "node:fs";
    import vm from "node:vm";
    for (const path of process.argv.slice(1)) {
      try { new vm.SourceTextModule(readFileSync(path, "utf8")); } catch (error) { console.log(path, error.message); }
    }
    """
    command = ["node", "--experimental-vm-modules", "--no-warnings", "--input-type=module", "-e", parse]
    done = subprocess.run([*command, *map(str, scripts)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")
    wrong = subprocess.run([*command, str(modules / "broken.js")], capture_output=True, text=True, timeout=60)
    assert "broken.js" in wrong.stdout


def test_pure_modules_do_what_they_say(modules):
    done = subprocess.run(
        ["node", "--test", *map(str, sorted(LOGIC.glob("*.test.mjs")))],
        capture_output=True,
        text=True,
        env={"PAGE": str(modules), "PATH": "/usr/bin:/bin:/usr/local/bin"},
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout
    assert int(re.search(r"# pass (\d+)", done.stdout)[1]) > 15
