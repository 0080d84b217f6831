"""Secrets that no name stands before: in a column, in a line of a file of passwords, as a command's own word."""

from __future__ import annotations

import json
import time

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from redacted import is_untouched

#: ``\n`` and ``\t`` are the ends of lines, and tabs.
FORMS = r"""
username,password\nusr,{}
id,email,password,role\n1,a@b.example,{},admin\n2,c@d.example,other1x,user
user\ttoken\nusr\t{}
user,api_key\r\nusr,{}\r\n
"user","api_key"\n"usr","{}"
"note","password"\n"a, b","{}"\n
user;password\nusr;{}
name,client_secret,url\nx,{},http://x.example
id | password \n----+----------\n  1 | {}\n(1 row)
| user | password |\n|---|---|\n| usr | {} |
cat >> ~/.pgpass <<EOF\ndb.example:5432:shop:app:{}\nEOF
echo db.example:5432:shop:app:{} >> ~/.pgpass
10.0.0.5:5432:*:app:{}\nlocalhost:5432:db:usr:other
*:*:*:postgres:{}
.x.example\tTRUE\t/\tFALSE\t0\tsid\t{}
#HttpOnly_x.example\tFALSE\t/\tTRUE\t1999999999\tsid\t{}
bw unlock {}
bw unlock "{}" --raw
bw login usr@x.example {}
export BW_SESSION="{}"
cargo login {}
wpa_passphrase ssid {}
rabbitmqctl add_user usr {}
rabbitmqctl -n rabbit@h change_password usr '{}'
poetry config pypi-token.pypi {}
poetry config http-basic.x usr {}
pulumi config set --secret dbPass {}
pulumi config set dbPass --secret {}
cloudflared service install {}
mc alias set m http://h.example AKEY {}
vault operator unseal {}
xfreerdp /v:h /u:usr /p:{}
echo {} | gh auth login --with-token
gh auth login --with-token <<< {}
plink -pw {} usr@h
conan remote login x usr -p {}
steghide embed -p {} -cf x
netlify deploy --auth {}
grafana-cli admin reset-admin-password {}
SET PASSWORD FOR usr = '{}'
[db]\npass = {}\nuser = usr
set imap_pass = "{}"
password = \"\"\"{}\"\"\"
variable "db_password" {\n  type = string\n  default = "{}"\n}
define( 'AUTH_KEY', '{}' );
"""
OTHERS = r"""
username, password\nare asked for
token,count\nthe,12\nof,7
user,password\nstring,string
user,password\nusr,********\nusr,null
| name | token |\n|---|---|\n| BOS | start of the text |
| field | password |\n|---|---|\n| type | string |
import os, secrets, token\nfrom x import y, z, w
def f(user, password, host):\n    return g(user, password, host)
arn:aws:ec2:*:*:instance/x arn:aws:s3:::*:x arn:aws:rds:*:*:*:db:word
at 12:54:30 and 10:543 and a:5431:b
a\tTRUE\tb\tFALSE
bw unlock; bw login; cargo login; poetry config --list; pulumi config set region eu
vault operator unseal; rabbitmqctl list_users; mc alias list; msbuild /p:Configuration=Release
Unseal Key Shares 5; connect to/from the hub; a class identified by 'name'
python -pw x; ak-short as-is pa-rt key_name crsr_x; 1//0 xprv AZDO
variable "token_count" {\n  default = 12\n}
"""
SECRET = "Zk4vQ9wXr2Lm7TbN5pYs"
VENDORS = (
    *("ak-", "as-"),
    *("CFPAT-", "CCIPAT_", "crsr_"),
)


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


def spelled(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")


@pytest.mark.parametrize("form", lines(FORMS))
def test_it_goes_and_what_stands_beside_it_stays(form: str) -> None:
    text = spelled(form).replace("{}", SECRET)
    for whole in (dump({"cmd": text}), dump({"result": json.dumps({"out": text})})):
        clean = Redactor(b"k")(whole)
        assert MARK in clean and SECRET not in clean
        json.loads(clean)
        assert Redactor(b"k")(clean) == clean
        for end in range(0, len(whole), 7):
            json.loads(Redactor(b"k")(dump(whole[:end])))


@pytest.mark.parametrize("text", lines(OTHERS))
def test_what_only_looks_alike_stays(text: str) -> None:
    is_untouched(spelled(text))


def test_a_whole_column_goes_and_no_other() -> None:
    rows = "".join(f"usr{n},hunter{n}two,{n}\n" for n in range(300))
    clean = Redactor(b"k")(dump({"out": "name,password,id\n" + rows + "\nhunter was,here,too\n"}))
    assert clean.count(MARK) == 300
    assert "two" not in clean
    assert "usr299" in clean and "hunter was,here,too" in clean


@pytest.mark.parametrize("prefix", VENDORS)
def test_tokens_of_vendors_go(prefix: str) -> None:
    secret = "Zk4vQ9wXr2Lm7TbN5pYsA1" + ("" if prefix in ("ak-", "as-") else "b2C3d4E5f6G7h8")
    assert secret not in Redactor(b"k")(dump({"out": f"x {prefix}{secret} y"}))


@pytest.mark.parametrize(
    "secret",
    [
        "a1B2" * 19 + "AZDO" + "x9Y8",
        "a1B2" * 13 + "JQQJ99" + "a1B2" * 7,
        "a1B2" * 19 + "ACDb" + "x9Y8a" + "==",
        "a1B2" * 19 + "+ASt" + "x9Y8aa" + "==",
        "AQ.Ab8" + "RN6x_" * 9,
        "AKID" + "a1B2" * 8,
        "AKLT" + "a1B2" * 11,
        "key_" + "0123456789abcdef" * 4,
        "pa-" + "a1B2-" * 8 + "x9Y",
    ],
)
def test_other_keys_go(secret: str) -> None:
    clean = Redactor(b"k")(dump({"out": f"x {secret} y"}))
    assert MARK in clean and secret not in clean


@pytest.mark.parametrize(
    "piece",
    [
        "user,password\n",
        "user,password\na,b\n",
        "| password | a |\n",
        "a:5432:*:c:",
        "*:*:",
        "TRUE\t",
        "bw unlock ",
        "poetry config ",
        "/p:",
        "password,",
    ],
)
def test_what_it_costs_grows_with_the_text(piece: str) -> None:
    def took(times: int) -> float:
        text = dump({"out": piece * times})
        began = time.process_time()
        Redactor(b"k")(text)
        return time.process_time() - began

    took(100)
    assert min(took(8_000) for _ in range(2)) < 40 * max(min(took(1_000) for _ in range(3)), 0.002)
