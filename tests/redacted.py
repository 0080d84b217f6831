"""Where a secret may stand, and what has to hold wherever it does."""

from __future__ import annotations

import json
from collections.abc import Callable

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7Zq\n{}\n-----END RSA PRIVATE KEY-----"

#: (what stands in the text, the secret in it)
SECRETS = [
    ("export API_KEY={}", "sk-test-0123456789abcdef"),
    ("export SHOP_TOKEN=\\\n{}", "hunter2hunter"),
    ("tool --token \\\n    {} \\\n    --verbose", "hunter2hunter"),
    ("tool --password \\\n  '{}' run", "hunter2hunter"),
    ("{}", "sk-ant-api03-AAAA1111bbbb2222cccc3333"),
    ("id {} in a line", "AKIAIOSFODNN7EXAMPLE"),
    ("AWS_SECRET={}", "AKIAEXAMPLEEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY: {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("clone with {}", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ("{}", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
    ("glab auth {}", "glpat-abcdefghij0123456789"),
    ("hook {}", "xoxb-123456789012-abcdefABCDEF"),
    ("maps {}", "AIzaSyA1234567890abcdefghijklmnopqrstuv"),
    ("{}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N"),
    ("postgres://admin:{}@db.example/app", "s3cr3tpw"),
    ("curl -H 'Authorization: Bearer {}' https://x.example", "abcdefabcdef123"),
    ("Authorization: Basic {}", "dXNlcjpwYXNzd29yZA=="),
    (PEM, "k3yMaterialInTheMiddle"),
    ("password={}", "swordfish"),
    ("DB_PASS={}", "swordfish"),
    ("password: {}\nuser: usr", "hunter2"),
    ("mysql --password {} -h db", "hunter2"),
    ("https://x.example/?api_key={}&q=1", "9c1b3a"),
    ('{{"client_secret": "{}"}}', "abc-def"),
    ("PGPASSWORD='{}' psql", "two words"),
    ("Set-Cookie: {}", "session=31d4d96e407aad42"),
    ("STRIPE_KEY={}", "rk_live_abcdefghijklmnop123"),
    ("curl -u admin:{} https://x.example", "hunter2hunter"),
    ("curl --user 'admin:{}' https://x.example", "hunter2hunter"),
    ("sshpass -p {} ssh host", "hunter2hunter"),
    ('["mycli", "--password", "{}", "-v"]', "hunter2hunter"),
    ('{{"headers": {{"Authorization": ["Bearer {}"]}}}}', "hunter2hunter"),
    ('{{"env": [{{"name": "DB_PASSWORD", "value": "{}"}}]}}', "hunter2hunter"),
    ('{{"auths": {{"r.example": {{"auth": "{}"}}}}}}', "dXNlcjpwYXNzd29yZA=="),
    ("machine x.example login usr password {}", "hunter2hunter"),
    ("machine x.example\nlogin usr\npassword {}\n", "hunter2hunter"),
    ("\u2019hf_{}", "abcdefghij0123456789ABCD"),
    ("post to https://hooks.slack.com/services/{}", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    ("https://a.blob.example/c?sv=2020&sig={}&se=1", "aBcD1234%2Fabcdefghijkl%3D"),
    ("https://b.s3.example/k?X-Amz-Signature={}", "0123456789abcdef0123456789abcdef"),
    ("AccountKey={};EndpointSuffix=core", "abcd/efgh+ij=="),
    ("refresh gave {} for an hour", "ya29.a0AfH6SMBx1234567890abcdef"),
    ("client GOCSPX-{}", "abcdefGHIJKL1234mnop"),
    ("mysql -u root -p{} shop", "hunter2hunter"),
    ("openssl rsa -passin pass:{} -in k.pem", "hunter2hunter"),
    ("https://api.telegram.org/bot123456789:{}/getMe", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"),
    ("https://{}@o1.ingest.sentry.io/1", "0123456789abcdef0123456789abcdef"),
    ("root:$6$saltsalt${}:18000:0:99999:7:::", "abcdefghijklmnop0123456789./"),
    ("lin_api_{}", "abcdefghijklmnop0123456789"),
    ("AGE-SECRET-KEY-{}", "1QQPQ0000ABCDEFGHJKLMNPQRS"),
    ("glrt-{}", "abcdefghij0123456789"),
    ("nvapi-{}", "abcdefghij0123456789"),
    ("pplx-{}", "abcdefghij0123456789"),
    ("lsv2_pt_{}", "0123456789abcdef0123456789abcdef_0123456789"),
    ("glsa_{}", "abcdefghij0123456789abcdefghij01_01234567"),
    ("ATATT3{}", "xFfGF0abcdefghij0123456789abcdefghij0123456789"),
    ("{}", "eyJhbGciOiJkaXIifQ..AbCdEfGhIjKl.0123456789abcdef.mnopqrstuv"),
    ("hdr Basic {}", "dXNlcjpwYXNzd29yZA=="),
    ("postgres://admin:{}@db.example/app", "s3cr3t@with@ats"),
    ("export GITHUB_PAT={}", "0123abcdefgh"),
    ("\nPASS={}\n", "hunter2hunter"),
    ("JWT={}", "hunter2hunter"),
    ("https://x.example/?key={}&q=1", "9c1b3a77"),
    ("export X_TOKEN=$'{}'", "hunter2hunter"),
    ("setenv X_TOKEN {}", "hunter2hunter"),
    ("ENV DB_PASSWORD {}", "hunter2hunter"),
    ("set -gx API_TOKEN {}", "hunter2hunter"),
    ("aws configure set aws_secret_access_key {}", "hunter2hunter"),
    ("npm config set //r.example/:_authToken {}", "hunter2hunter"),
    ("docker login -u usr -p {} r.example", "hunter2hunter"),
    ("mycli --pass {} -v", "hunter2hunter"),
    ("mysql -uroot -p'{}' shop", "hunter2hunter"),
    ("curl --proxy-user usr:{} https://x.example", "hunter2hunter"),
    ("curl --cookie 'session={}' https://x.example", "hunter2hunter"),
    ("Ocp-Apim-Subscription-Key: {}", "hunter2hunter"),
    ("os.environ['X_TOKEN'] = '{}'", "hunter2hunter"),
    ("os.getenv('API_KEY', '{}')", "hunter2hunter"),
    ("password: str = '{}'", "hunter2hunter"),
    ("const token = `{}`;", "hunter2hunter"),
    ("<password>{}</password>", "hunter2 hunter"),
    ('<add key="ApiKey" value="{}"/>', "hunter2hunter"),
    ("- name: DB_PASSWORD\n  value: {}\n", "hunter2hunter"),
    ("stringData:\n  secret: |\n    {}\n", "hunter2hunter"),
    ("client-key-data: {}", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFcEFJQkFBS0NBUUVBCg=="),
    ("KEY={}", "q7Zx9Lk2Vb8Nw3Rt5Yh1"),
    ("export KEY='{}'; run", "3f786850e387550fdab836ed7e6dc881de23001b"),
    ("AUTH={} run", "admin:hunter2hunter"),
    ("REDISCLI_AUTH={}", "hunter2hunter"),
    ("//r.example/:_auth={}", "dXNlcjpwYXNzd29yZA=="),
    ("echo root:{} | chpasswd", "hunter2hunter"),
    ("echo 'root:{}' | sudo chpasswd -e", "hunter2 hunter"),
    ("chpasswd <<< 'usr:{}'", "hunter2hunter"),
    ("sudo chpasswd <<EOF\nbob:{}\nEOF\n", "hunter2hunter"),
    ("htpasswd -bc /etc/nginx/.htpasswd usr {}", "hunter2hunter"),
    ("htpasswd -nb usr '{}' > x", "hunter2hunter"),
    ("echo '{}' | sudo -S apt update", "hunter2hunter"),
    ("echo {} | docker login -u usr --password-stdin r.example", "hunter2hunter"),
    ("printf '%s\\n' {} | passwd --stdin usr", "hunter2hunter"),
    ("redis-cli -h db -a {} ping", "hunter2hunter"),
    ('["redis-cli", "-a", "{}", "ping"]', "hunter2hunter"),
    ("zip -r -P {} out.zip dir", "hunter2hunter"),
    ("unzip -P '{}' in.zip", "hunter2hunter"),
    ("7z a -p{} out.7z dir", "hunter2hunter"),
    ("rar a -hp{} out.rar dir", "hunter2hunter"),
    ("curl -b 'session={}; theme=dark' https://x.example", "hunter2hunter"),
    ("curl -b session={} https://x.example", "hunter2hunter"),
    ('["curl", "-b", "session={}"]', "hunter2hunter"),
    ('["curl", "-u", "usr:{}", "-s"]', "hunter2hunter"),
    ("ldapsearch -x -D cn=admin -w {} -b dc=x", "hunter2hunter"),
    ("smbclient //host/share -U usr%{}", "hunter2hunter"),
    ("keytool -list -storepass {} -keystore k.jks", "hunter2hunter"),
    ("Connect-It -Password {} -Verbose", "hunter2hunter"),
    (
        '{{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZpt","e":"AQAB","d":"{}"}}',
        "X4cTteJY_gn4FYPsXB8rdXix5v",
    ),
    ('{{"kty": "oct", "k": "{}"}}', "AyM1SysPpbyDfgZld3umj1qzKObwVMk"),
    ("jwk = {{'crv': 'P-256', 'd': '{}', 'kty': 'EC'}}", "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4"),
    ('{{"cookies": [{{"name": "sid", "value": "{}", "path": "/"}}]}}', "hunter2hunter"),
    ("https://maps.example/v1/AIza{}/tiles", "SyA1234567890abcdefghijklmnopqrstuv"),
    ("PuTTY-User-Key-File-3: x\nPrivate-Lines: 2\n{}\nPrivate-MAC: y", "AAAAgQDhunter2hunter"),
]

#: What stands around a text, as an event's fields.
CONTEXTS: dict[str, Callable[[str], str]] = {
    "JSON inside": lambda t: dump({"result": json.dumps({"cmd": t})}),
    "JSON inside JSON inside": lambda t: dump(
        {"result": json.dumps({"x": json.dumps({"cmd": t})})}
    ),
    "a list of words": lambda t: dump({"result": json.dumps(["bash", "-c", t])}),
    "a terminal": lambda t: dump({"result": f"$ {t}\nok\n"}),
    "YAML": lambda t: dump({"result": "run: " + t.replace("\n", "\n  ") + "\n"}),
    "a shell's quotes": lambda t: dump({"result": f'bash -c "{t}"'}),
    "Python": lambda t: dump({"result": repr({"cmd": t})}),
    "lines of Windows": lambda t: dump({"result": t.replace("\n", "\r\n")}),
}


def is_hidden(around: str, secret: str) -> None:
    """*secret* goes from *around*, which stays JSON, whatever stands around it and wherever it is cut."""
    text = around.replace("{}", secret)
    for where, inside in {"alone": dump, "a field": lambda t: dump({"cmd": t}), **CONTEXTS}.items():
        whole = inside(text)
        clean = Redactor(b"k")(whole)
        assert MARK in clean and secret not in clean, (where, clean)
        assert json.loads(clean).__class__ is json.loads(whole).__class__, where
        assert Redactor(b"k")(clean) == clean, where
    for end in range(len(text) + 1):
        for piece in (text[:end], text[end:], text[:end] + "\\", text[:end] + '"'):
            before = {
                "a": piece,
                "b": [piece, 5, None],
                piece: True,
                "c": dump([piece, {piece: 1}]),
            }
            after = json.loads(Redactor(b"k")(dump(before)))
            assert [type(v) for v in after.values()] == [type(v) for v in before.values()]


def is_untouched(text: str) -> None:
    """*text* comes out as it is, the same object."""
    for whole in (dump(text), dump({"result": text}), dump({"result": json.dumps({"x": text})})):
        clean = Redactor(b"k")(whole)
        assert clean == whole
        assert clean is whole
