"""Texts of an agent's day that hold no secret: they come out as they are, the same object."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha1, sha256, sha512
from random import Random
from uuid import UUID

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction.redact import Redactor

_SOME = Random(7)


def digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def base64(size: int, seed: int = 1) -> str:
    return b64encode(Random(seed).randbytes(size)).decode()


def uuid(seed: int) -> str:
    return str(UUID(bytes=Random(seed).randbytes(16), version=4))


def commit(seed: int) -> str:
    return sha1(str(seed).encode()).hexdigest()


INTEGRITY = "sha512-" + b64encode(sha512(b"x").digest()).decode()

INNOCENT = {
    "git log": "\n".join(f"commit {commit(n)}\nAuthor: Bob <usr@x.example>\n\n    Fix {n}" for n in range(20)),
    "git diff": f"index {commit(1)[:7]}..{commit(2)[:7]} 100644\n--- a/key.py\n+++ b/key.py\n@@ -1,2 +1,2 @@\n-a\n+b",
    "uuids": "\n".join(f"session {uuid(n)} of task-{uuid(n + 99)}" for n in range(20)),
    "files": "\n".join(f"{digest(str(n))}  dist/secret-santa-{n}.tar.gz" for n in range(20)),
    "an image": f"docker pull x.example/app@sha256:{digest('image')}",
    "package-lock.json": json.dumps(
        {"node_modules/js-tokens": {"version": "4.0.0", "resolved": "https://registry.x.example/js-tokens/-/js-tokens-4.0.0.tgz", "integrity": INTEGRITY}},
        indent=2,
    ),
    "yarn.lock": f'"@babel/helper-validator-identifier@^7.25.9":\n  version "7.25.9"\n  integrity {INTEGRITY}\n',
    "poetry.lock": f'[[package]]\nname = "tokenize-rt"\nfiles = [\n  {{file = "tokenize_rt-6.1.0.whl", hash = "sha256:{digest("w")}"}},\n]\n',
    "Cargo.lock": f'[[package]]\nname = "secrecy"\nversion = "0.10.3"\nchecksum = "{digest("c")}"\n',
    "go.sum": f"github.com/zalando/go-keyring v0.2.6 h1:{base64(32)}\n",
    "requirements": f"keyring==25.6.0 \\\n    --hash=sha256:{digest('k')}\n",
    "RECORD": "\n".join(f"pkg/m{n}.py,sha256={base64(32, n).replace('+', '-').replace('/', '_')[:43]},{n}" for n in range(200)),
    "an image as text": f"data:image/png;base64,iVBORw0KGgo{base64(30_000)}",
    "hex": _SOME.randbytes(5_000).hex(),
    "DNA": ">ACCA\n" + "".join(_SOME.choices("ACGT", k=600)),
    "a certificate": f"-----BEGIN CERTIFICATE-----\n{base64(600)}\n-----END CERTIFICATE-----",
    "public keys": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64(30)[:38]} usr@host\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{base64(300)} k",
    "a public key in JSON": json.dumps({"keys": [{"kty": "RSA", "kid": "k1", "use": "sig", "n": base64(256), "e": "AQAB"}]}),
    "another": '{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"d"}',
    "numbers": "0.12345678901234567 3.14159265358979323846 1e-16 127.0.0.1:8080 2026-11-30T16:45:12.123456789Z",
    "Python": "def login(user, password):\n    token = make_token(user, password)\n    if not token:\n        raise BadPassword\n    key = cache.key_for(token)\n    return rows.sort(key=itemgetter('key')), max(xs, key=len)\n",
    "Python classes": "class Session:\n    token: str\n    password: str | None = None\n    api_key: SecretStr = Field(default=None)\n\n    def __init__(self, token: str, api_key: str = '') -> None:\n        self.token = token\n        self._auth = HTTPBasicAuth(self.user, self.password)\n",
    "JavaScript": "const {token, password} = req.body;\nif (!password) return res.status(400).send({error: 'password required'});\nconst key = Object.keys(map)[0];\nlocalStorage.getItem(TOKEN);\nheaders['Authorization'] = `Bearer ${token}`;\n",
    "React": '<Row key={item.id} token={token} />\n<Item key="first" name="password" type="password" />\n{items.map((key) => <li key={key}>{key}</li>)}',
    "minified": "var s=t.default,a=s.calculateLayoutOfAllRows(e),n=s.a1;s.getBoundingClientRect2D(b);e.exports=function(t){return t.key=t.code}",
    "Go": 'type Config struct {\n\tPassword string `json:"password"`\n\tAPIKey   string `yaml:"api_key" env:"API_KEY"`\n}\n\nfunc (c *Config) Token() (string, error) {\n',
    "Rust": 'let token = env::var("API_TOKEN")?;\nlet key: &str = map.get("key").unwrap_or_default();\n',
    "SQL": "CREATE TABLE users (id int PRIMARY KEY, password text NOT NULL, token_count int);\nSELECT key, count(*) FROM cache GROUP BY key;",
    "a workflow": "env:\n  API_KEY: ${{ secrets.API_KEY }}\n  PASSWORD: $PASSWORD\nsteps:\n  - uses: actions/cache@v4\n    with:\n      key: deps-${{ hashFiles('poetry.lock') }}\n      restore-keys: deps-\n",
    "Terraform": 'password = var.db_password\ntoken    = data.vault_generic_secret.x.data["token"]\nkey      = "prod/terraform.tfstate"\n',
    "JSON with keys": '{"key": "name", "keys": ["a", "b"], "sort_key": "created_at", "keyCode": 13, "tokens": 512, "auth": "none", "pass": true}',
    "a schema": '{"properties": {"password": {"type": "string", "format": "password"}, "token": {"type": "string"}}, "required": ["password", "token"]}',
    "usage": '{"usage": {"input_tokens": 1200, "output_tokens": 80, "max_tokens": 4096, "token_type": "bpe"}}',
    "texts of an app": '{"login.password.label": "Password", "login.password.hint": "At least 8 characters", "login.token.expired": "Your link has expired"}',
    "prose": "The password was reset on Monday. Whoever has a token may use it once; a key is never shown again. Cookies are kept for a year. Ask for the secret handshake, the basic authentication of users, the bearer of bad news, and pass: it is said.",
    "advice": "Use a strong password (12 characters or more), never reuse a password between sites, and keep the recovery key in a safe place. Tokens expire after 90 days; rotate API keys. See docs/passwords.md#storing-passwords.",
    "help": "  -a, --all            all of them\n  -b, --branch NAME    the branch\n  -p, --port PORT      the port\n  -P, --parallel N     at once\n  -u, --user USER      who\n  --password-file FILE read the password from FILE\n  --token-file PATH    where the token is\n",
    "flags": "git commit -a -m 'all'; git checkout -b key=value; ls -w 80; cp -a src dst; mkdir -p build/keys; ssh -p 2222 host; psql -U usr -w -d db; docker run -p 8080:80 -u 1000:1000 -a stdout x; tar -S -cf x.tar; curl -b cookies.txt -c cookies.txt https://x.example; zip -r out.zip dir; mysql -u root -p db; 7z x in.7z -oout; smbclient -U usr //h/s; ldapsearch -W -x",
    "files of secrets": "mycli --password-file /run/secrets/db --token-path ~/.token --secret-url https://x.example/s",
    "variables": "export KEY=value AUTH=none PASS=120 FAIL=3; KEY=$1; AUTH=\"$AUTH\" run; KEY=/etc/ssl/private/host2024.pem; KEY=deps-linux-node20-v2-build; AUTH=https://login2.example.com/x; KEY=user:42:name; key=4f2a9c81d7e6b3054f2a9c81d7e6b305; PATH=/usr/bin; npm_config_user_agent=npm",
    "IMAP": "* CAPABILITY IMAP4rev1 AUTH=PLAIN AUTH=SCRAM-SHA-256-PLUS AUTH=CRAM-MD5 SASL-IR\nKEY=VALUE pairs, KEY=VALUE[;VALUE]",
    "prose in pairs": "sort key=created_at order=desc; cache key=user:42; author=usr; keyword=monkey; hotkey=ctrl",
    "pipes": "echo done | tee log; echo 'hello' | sudo tee /etc/motd; printf '%s' x | wc -c; echo $PASSWORD | sudo -S true; echo \"$P\" | docker login --password-stdin r.example; cat f | chpasswd; man htpasswd; sudo -S -v",
    "names": "risk-1234567890abcdefgh disk-abcdefgh12345678 api-gateway-production-2024 use_npm_configuration_file my_test_something_long_1 live_migration_of_the_database pre_ops_checklist_20240101 the_secret_garden_1911_edition sha256_of_the_file_2024",
    "cookies": 'document.cookie; res.clearCookie("sid"); "cookies": [], "cookies": {"enabled": true}, cookie-policy, cookies: 3',
    "addresses": "https://x.example/hooks/slack https://docs.example/webhooks/?page=2&sort=key https://user@host.example/path git@github.com:x/y.git postgres://db.example/app",
    "headers": "Access-Control-Allow-Headers: Authorization, X-Api-Key, Cookie\nVary: Cookie\nWWW-Authenticate: Basic realm=\"x\"\n",
    "a log": "\n".join(f"2026-11-30T16:45:{n:02}.123Z INFO [worker-{n}] GET /api/v1/keys/{n}?page=2 200 12ms req={uuid(n)} trace={commit(n)[:32]} host=web-{n}.x.example" for n in range(30)),
    "a trace": 'File "/usr/lib/python3.11/site-packages/jwt/api_jwt.py", line 210, in decode\n    raise ExpiredSignatureError("Signature has expired")\n',
    "Markdown": "| key | token | password |\n|-----|-------|----------|\n| `id` | string | optional |\n\n--------------------------------\n- key: the name\n",
}  # fmt: skip


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_text_comes_out_as_it_is(name: str) -> None:
    redact, text = Redactor(b"k"), INNOCENT[name]
    for whole in (
        dump(text),
        dump({"args": {"text": text}, "result": [text, 1]}),
        dump({"result": json.dumps({"content": text})}),
        json.dumps({"result": f"a\n{text}\nü"}, ensure_ascii=False),
    ):
        assert redact(whole) == whole
        assert redact(whole) is whole


def test_a_sign_that_a_secret_would_need_changes_nothing() -> None:
    text = " ".join(INNOCENT[name] for name in ("prose", "uuids", "numbers", "names"))
    for sign in "-_.A@$?&~Jhpz":
        whole = dump({"result": text.replace(" ", f" {sign} ")})
        assert Redactor(b"k")(whole) is whole, sign
