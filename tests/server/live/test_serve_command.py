"""The commands `tally serve` and `tally key`: addresses, mistakes, keys, TLS."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys

import httpx2
import pytest
import typer
from running_server import CAT, ROOT, RunningServer, pets

from command_line import fine, tally
from tallybayes.cli.main import app
from tallybayes.errors import TallyError


@pytest.fixture
def model(tmp_path):
    pets().save(tmp_path / "pets.tally")
    return tmp_path / "pets.tally"


def refused(*arguments, cwd):
    """The message of a command that does not start; it runs in this process, which is faster."""
    with contextlib.chdir(cwd), pytest.raises(TallyError) as error:
        typer.main.get_command(app).main(["serve", *map(str, arguments)], standalone_mode=False)
    return str(error.value)


def test_a_port_that_is_in_use(model, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        message = refused(model, "--port", other.getsockname()[1], cwd=tmp_path)
    assert "which another program uses" in message
    assert "--port 0" in message


def test_an_address_that_others_can_reach_needs_keys(model, tmp_path):
    message = refused(model, "--host", "0.0.0.0", cwd=tmp_path)
    assert "expected keys" in message
    assert "tally key" in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "70000"], "65535"),
        (["--log-level", "loud"], "--log-level"),
        (["--max-body", "much"], "--max-body"),
        (["--timeout", "0"], "timeout"),
        (["--concurrency", "0"], "concurrency"),
        (["--rate", "-1"], "rate"),
        (["--cors", "*"], "origin"),
        (["--cors", "https://a.example/path"], "origin"),
        (["--keys", "nothing.txt"], "keys"),
        (["--tls-key", "nothing.pem"], "--tls-cert"),
        (["--tls-cert", "nothing.pem"], "TLS"),
        (["--host", "no.such.host.invalid"], "address"),
    ],
)
def test_wrong_options(model, tmp_path, options, words):
    assert words in refused(model, "--port", "0", *options, cwd=tmp_path)


def test_a_path_that_is_not_a_model(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n")
    assert "nothing.tally" in refused("nothing.tally", "--port", "0", cwd=tmp_path)
    assert "tally" in refused("data.csv", "--port", "0", cwd=tmp_path)


def test_a_second_server_on_the_same_folder(model, tmp_path):
    with RunningServer(tmp_path):
        assert "no other server" in refused(tmp_path, "--port", "0", cwd=tmp_path)


def test_a_model_whose_name_needs_quoting(tmp_path):
    name = 'caf\u00e9, "b"\n%41'
    pets().save(tmp_path / f"{name}.tally")
    with RunningServer(tmp_path) as server, server.client(model=name) as client:
        assert client.predict([CAT]).tolist() == ["cat"]
        assert client.learn({**CAT, "pet": "cat"}, if_version=0).version == 1
        assert client.models()[0]["name"] == name
        assert len(client.download()) > 100
        assert client.event(1)["rows"] == 1


def test_another_address_of_this_machine(model):
    with RunningServer(model, "--host", "127.0.0.2") as server, server.client() as client:
        assert server.url.startswith("http://127.0.0.2:")
        assert client.predict([CAT]).tolist() == ["cat"]


def test_an_empty_folder_is_filled_by_uploads(tmp_path):
    from tallybayes.model.saved_model import dumps

    folder = tmp_path / "models"
    folder.mkdir()
    with RunningServer(folder) as server, server.client() as client:
        assert client.models() == []
        client.upload(dumps(pets()), "pets")
        assert client.predict([CAT]).tolist() == ["cat"]
    assert (folder / "pets.tally").exists()


def test_a_key_is_printed_once_and_its_line_is_accepted(model, tmp_path):
    secret, line = fine("key", "--scope", "learn", "--model", "pets", "--name", "the shop", cwd=tmp_path).splitlines()
    assert secret.startswith("tally_")
    assert secret not in line
    assert line.endswith("predict,learn pets # the shop")
    other = json.loads(fine("key", "--json", cwd=tmp_path))
    assert other["key"] != secret
    (tmp_path / "keys.txt").write_text(f"{line}\n{other['line']}\n")
    with RunningServer(model, "--keys", str(tmp_path / "keys.txt"), "--host", "0.0.0.0") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        get = lambda key: httpx2.get(f"{url}/v1/models/pets/events", headers={"Authorization": f"Bearer {key}"})  # noqa: E731
        assert (get(secret).status_code, get(other["key"]).status_code, get("x").status_code) == (200, 403, 401)


@pytest.mark.parametrize("options", [["--scope", "all"], ["--model", "a b"], ["--name", "a\nb"]])
def test_wrong_keys(tmp_path, options):
    done = tally("key", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "expected" in done.stderr


def test_tls(model, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    assert "cannot be used" in refused(model, "--port", "0", "--tls-cert", key, cwd=tmp_path)
    with RunningServer(model, "--tls-cert", certificate, "--tls-key", key) as server:
        assert server.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        with httpx2.Client(base_url=server.url, verify=trusted) as client:
            found = client.post("/v1/models/pets/predict", json={"row": CAT})
            assert found.json()["predictions"] == ["cat"]
            origin = {"Origin": server.url}
            assert client.post("/v1/models/pets/predict", json={"row": CAT}, headers=origin).status_code == 200


def test_without_the_packages_of_the_server_the_command_to_install_them_is_named(model):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['tally', 'serve', 'pets.tally'];"
        "from tallybayes.cli.main import main; main()"
    )
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=own, check=False)
    assert done.returncode == 1
    assert "pip install 'tallybayes[server]'" in done.stderr


def test_the_library_and_the_client_load_no_package_of_the_server():
    code = "import sys, tallybayes.client; print(sorted({n.split('.')[0] for n in sys.modules}))"
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=own, check=True).stdout
    for name in ("starlette", "uvicorn", "prometheus_client", "pyarrow", "httpx2", "requests"):
        assert f"'{name}'" not in out
