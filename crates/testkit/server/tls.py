"""Runs commands through a TLS proxy with valid, unknown, expired and mismatched certificates: tls.py TENURE.

The certificates are made with openssl; the proxy is a few lines of Python in front of `tenure serve`. An untrusted
certificate is refused at once with its reason and without a retry."""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

tenure = os.path.abspath(sys.argv[1])
base = tempfile.mkdtemp(prefix="tenure-tls.")
env = {"PATH": os.environ["PATH"], "HOME": base, "USER": "ann", "TENURE_PROJECT": "tls", "TENURE_FORMAT": "json"}


def openssl(*words):
    subprocess.run(["openssl", *words], cwd=base, check=True, capture_output=True)


def authority(name):
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2",
            "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")


def certificate(name, by, host, days):
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
    with open(f"{base}/{name}.ext", "w") as ext:
        ext.write(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-out",
            f"{name}.pem", "-days", days, "-extfile", f"{name}.ext")


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy(name, to):
    """Starts a TLS proxy with a certificate and returns its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{base}/{name}.pem", f"{base}/{name}.key")
    listener = socket.create_server(("127.0.0.1", 0))

    def one(plain):
        try:
            client = context.wrap_socket(plain, server_side=True)
            server = socket.create_connection(to)
        except OSError:
            plain.close()
            return
        threading.Thread(target=pump, args=(server, client), daemon=True).start()
        pump(client, server)

    def serve():
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def run(*words, **more):
    began = time.monotonic()
    ran = subprocess.run([tenure, *words], cwd=base, env={**env, **more}, capture_output=True, text=True)
    return json.loads(ran.stdout), ran.returncode, time.monotonic() - began


authority("ours")
authority("others")
certificate("good", "ours", "localhost", "2")
certificate("expired", "ours", "localhost", "-1")
certificate("wrong", "ours", "elsewhere.example", "2")
certificate("unknown", "others", "localhost", "2")
run("add", "zero")
run("member", "set", "person:ann", "--role", "admin", "--in", "*")
secret = run("token", "add", "--for", "person:ann")[0]["data"]["secret"]
server = subprocess.Popen([tenure, "serve", "--listen", "127.0.0.1:0", "--json", "--quiet"], cwd=base, env=env,
                          stdout=subprocess.PIPE, text=True)
host, port = json.loads(server.stdout.readline())["data"]["url"].removeprefix("http://").split(":")


def far(name, **more):
    url = f"https://localhost:{proxy(name, (host, int(port)))}"
    # Another directory, because this one is pinned to the store itself.
    around = {"TENURE_URL": url, "TENURE_TOKEN": secret, "SSL_CERT_FILE": f"{base}/ours.pem", "HOME": f"{base}/far", **more}
    return lambda *words: run(*words, **around)


os.mkdir(f"{base}/far")
good = far("good")
assert good("add", "by TLS")[1] == 0
titles = [task["title"] for task in good("list")[0]["data"]["items"]]
assert titles == ["zero", "by TLS"], titles
for name, words in [("expired", "expired"), ("wrong", "not valid for name"), ("unknown", "UnknownIssuer")]:
    said, code, took = far(name)("list")
    told = json.dumps(said)
    assert said["error"]["code"] == "tls_refused" and code == 4 and words.lower() in told.lower(), (name, said)
    assert took < 3, (name, took)
    print(f"{name}: {said['error']['message']} ({took:.1f} s)")
server.terminate()
assert server.wait() == 0
print("good: works; the others are refused at once")
