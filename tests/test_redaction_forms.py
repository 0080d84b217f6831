"""Where else people and machines write secrets: code, markup, manifests, what a browser is told to type."""

from __future__ import annotations

import json
import time

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from redacted import is_hidden, is_untouched
from shapes import forget_shapes

FORMS = r"""
requests.get(u, auth=("usr", "{}"))
requests.get(u, auth=HTTPBasicAuth('usr', '{}'))
session.auth = ("usr", "{}")
aiohttp.BasicAuth("usr", "{}")
db.auth("usr", "{}")
os.putenv("X_TOKEN", "{}")
monkeypatch.setenv("X_TOKEN", "{}")
define('DB_PASSWORD', '{}');
[Environment]::SetEnvironmentVariable("X_TOKEN", "{}")
ConvertTo-SecureString "{}" -AsPlainText -Force
ConvertTo-SecureString -String '{}' -AsPlainText -Force
request.setHeader("Authorization", "Bearer {}")
headers={"Authorization": f"Bearer {}"}
keyring.set_password("service", "usr", "{}")
user.setPassword("{}")
page.fill("#password", "{}")
page.fill('input[name="password"]', '{}')
page.getByLabel("Password").fill("{}")
driver.find_element(By.ID, "password").send_keys("{}")
cy.get("#password").type("{}")
{"selector": "#password", "text": "{}"}
{"selector": "input[type=password]", "value": "{}"}
{"element": "Password field", "ref": "e5", "text": "{}"}
{"value": "{}", "name": "DB_PASSWORD"}
{"name": "DB_PASSWORD", "secret": true, "value": "{}"}
{"ParameterKey": "DbPassword", "ParameterValue": "{}"}
{"bearer": "{}"}
const PASSWORD: &str = "{}";
var password string = "{}"
password=SecretStr('{}')
password%3D{}
password=%22{}%22
<property name="password">{}</property>
<entry key="db.password">{}</entry>
<property name="x.password" value="{}"/>
<wsse:Password Type="x#PasswordText">{}</wsse:Password>
<data name="ApiKey" xml:space="preserve"><value>{}</value></data>
<input name="authenticity_token" type="hidden" value="{}">
<name>fs.s3a.secret.key</name><value>{}</value>
PRAGMA key = '{}';
redis-cli CONFIG SET requirepass {}
SSHPASS={} sshpass -e ssh h
echo "{}" | sudo -kS ls
sudo -S ls <<< '{}'
printf '{}\n{}\n' | passwd usr
echo -n "{}" | gcloud secrets versions add x --data-file=-
echo {} | gh secret set NAME
gh secret set NAME <<< '{}'
fly secrets set A={} B=other
doppler secrets set NAME {}
kubectl create secret generic x --from-literal=anything={}
vault kv put secret/x value={}
https://{}:x-oauth-basic@github.com/x/y.git
machine h login u account a password {}
CREATE USER 'a'@'%' IDENTIFIED BY '{}'
ALTER USER 'a'@'%' IDENTIFIED WITH mysql_native_password BY '{}'
jdbc:oracle:thin:scott/{}@//h:1521/x
sqlplus -s scott/{}@orcl
echo -n '{}' | cryptsetup luksOpen /dev/x y
echo '{}' | kinit usr
cmdkey /add:host /user:usr /pass:{}
ParameterKey=DbPassword,ParameterValue={}
auth: {user: u, pass: {}}
mysqladmin -u root password {}
nmcli dev wifi connect ssid password {}
set password {}
"""
BLOCKS = [
    "apiVersion: v1\ndata:\n  a: {}\n  b: dXNy\nkind: Secret\nmetadata:\n  name: x\n",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\nstringData:\n  A: '{}'\n",
    '{"apiVersion": "v1", "data": {"a": "{}", "b": "dXNy"}, "kind": "Secret"}',
    '{"apiVersion":"v1","kind":"Secret","data":{"a":"{}"},"metadata":{"name":"x"}}',
    '{"secrets": {"A": "{}", "n": 1}}',
    '{"db_credentials": {"user": "u", "it": "{}"}}',
    "<key>password</key>\n<string>{}</string>",
    "requirepass {}\nport 6379\n",
    "[db]\nuser = u\npass = {}\n",
]
SAML = "PHNhbWxwOlJlc3BvbnNlIHhtbG5zOnNhbWxwPSJ1cm46b2FzaXM6bmFtZXM6dGM6U0FNTDoyLjA6cHJvdG9jb2wi"
OTHERS = r"""
auth=("user", "password"); useAuth('google', 'openid'); requireAuth("admin", "write"); auth(user, key)
os.getenv("API_TOKEN", ""); setenv("X_TOKEN", token); define('DB_PASSWORD', getenv('DB_PASSWORD'));
request.setHeader("Authorization", "Bearer " + token); add_header('Proxy-authorization', 'Basic ' + creds)
register_response_type('code id_token token'); getByLabel("Password").click(); type("password", x)
{"name": "Password", "text": "Forgotten?"}; {"element": "Password field", "text": "Forgot your password?"}
<label for="password">Password</label>; <a href="/password">Reset</a>; <string name="password">Password</string>
<input type="password" name="password" placeholder="x">; <div class="token">word</div>
token = Token("html_inline", "", 0); _token = rf'(?=[a-z])'; password = '' or None
"node_modules/js-tokens": {"version": "4.0.0", "integrity": "sha512-pKvURIxJVi2CgRXROh8M6pJ"}
"Credentials": {"shape": "OAuth2Credentials"}; "tokens": {"input": 12}; "secrets": {"db": {"file": "./db.txt"}}
kind: SecretStore\nmetadata:\n  name: x\ndata:\n  a: dXNyMTIzNDU2
apiVersion: v1\nkind: ConfigMap\ndata:\n  a: dXNyMTIzNDU2\n  b: see
existing secret versions with the new key: <a href="https://x.example/a">; a secret set of rules a=b1234567
masterAuth field of the cluster; the masterauth struct; setPassword(password)
https://user:$PASS@x.example/; a@b.example; password%20reset; ?auth=google&x=1
the user is identified by an id (a@b.example); identified with 'x'; oracle:thin drivers; sqlplus /nolog @file.sql
pass: test_redaction_1234; a user may pass = 12; kinit usr; cryptsetup luksDump /dev/x; set password field
kubectl get secret x -o yaml; gh secret list; vault kv get secret/x; docker secret ls
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("form", [*lines(FORMS), *BLOCKS])
def test_a_secret_is_hidden_in_its_form(form: str) -> None:
    is_hidden(form, "q7hunter2kx9ab3z1")


@pytest.mark.parametrize("form", [*lines(FORMS), *BLOCKS])
def test_it_is_hidden_in_the_first_text_of_a_process(form: str) -> None:
    forget_shapes()
    assert MARK in Redactor(b"k")(dump({"cmd": form.replace("{}", "q7hunter2kx9ab3z1")}))


@pytest.mark.parametrize("form", ["SAMLResponse={}&RelayState=x", '{"SAMLResponse": "{}"}'])
def test_what_saml_answers_is_hidden(form: str) -> None:
    clean = Redactor(b"k")(dump({"body": form.replace("{}", SAML)}))
    assert MARK in clean and SAML[30:] not in clean


@pytest.mark.parametrize("text", lines(OTHERS))
def test_what_only_looks_alike_stays(text: str) -> None:
    is_untouched(text.replace("\\n", "\n"))


def test_all_data_of_a_list_of_secrets_goes_and_that_of_others_stays() -> None:
    one = "- apiVersion: v1\n  data:\n    a: {}\n  kind: {}\n  metadata:\n    name: x\n"
    text = "items:\n" + "".join(one.format(f"value{n}word", kind) for n, kind in enumerate(("Secret", "ConfigMap", "Secret")))  # fmt: skip
    clean = json.loads(Redactor(b"k")(dump(text)))
    assert [f"value{n}word" in clean for n in range(3)] == [False, True, False]


@pytest.mark.parametrize("piece", ["kind: Secret\ndata:\n a: b\n", "kind: Secret\n", "apiVersion", '"secrets": {"a": "b", ', "auth=('a', 'b", "auth(", '<property name="password" a="b" ', '"value": "x", "name": "password', 'set_password("a", ', "requirepass a ", "secret set A=b ", "gh secret set ", 'fill("password", '])  # fmt: skip
def test_no_form_makes_it_slow(piece: str) -> None:
    text = dump({"result": piece * (100_000 // len(piece))})
    before = time.process_time()
    Redactor(b"k")(text)
    assert time.process_time() - before < 4  # linear takes a part of it, quadratic minutes
