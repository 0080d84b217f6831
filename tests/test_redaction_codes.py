"""Codes that let somebody in once or for a while, and secrets that are told in a sentence."""

from __future__ import annotations

import json
import time

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from redacted import is_hidden, is_untouched
from shapes import forget_shapes

#: Where a code stands; ``{}`` is one of digits.
CODES = r"""
pin: {}
PIN={} run
{"pin": "{}"}
{"pin": {}, "a": 1}
{"user_pin": "{}"}
{"cardPin": "{}"}
{"pinCode": "{}"}
{"otp": "{}"}
{"otp": {}}
{"totp": "{}"}
{"totpCode": "{}"}
{"passcode": "{}"}
{"one_time_code": "{}"}
{"oneTimeCode": "{}"}
{"security_code": "{}"}
{"mfa_code": "{}"}
{"mfaCode": {}}
{"verification_code": "{}"}
{"two_factor_code": "{}"}
{"2fa_code": "{}"}
{"sms_code": "{}"}
{"backup_codes": ["{}", "34"]}
login(user="u", otp="{}")
login(user="u", otp={})
verify(mfa_code='{}')
https://x.example/login?otp={}
https://x.example/login?a=1&pin={}&b=2
https://x.example/login?a=1&security_code={}
export VERIFICATION_CODE={}
aws sts get-session-token --serial-number arn --token-code {}
npm publish --otp={}
npm publish --otp {}
mycli login --pin {}
mycli login --mfa-code {}
["mycli", "--otp", "{}"]
my passcode is {}.
my PIN is {}
Your verification code is {}
Your verification code is: {}
Your one-time code is {}. Do not share it.
OTP: {}
{} is your verification code.
Ihr PIN lautet {}
"""
MIXED = r"""
{"otp": "{}"}
{"mfa_code": "{}"}
recovery_code={}
https://x.example/callback?code={}&state=1
my password is {}
My password is {}.
the password for the db is {}
password is "{}"
the password is `{}`
my passphrase is {}
das Passwort ist {}
Passwort: {}
mein Kennwort lautet {}
le mot de passe est {}
the token is {}
the API key is {}
log in with user admin and password {}
username admin, password {}
| password | {} |
Incorrect API key provided: {}. See the docs
invalid token "{}"
DB_PW={} run
{"pw": "{}"}
wifi: {ssid: x, psk: "{}"}
CREATE ROLE own LOGIN PASSWORD '{}'
SET PASSWORD FOR a = PASSWORD('{}')
"""
WORDS = ["my password is '{}'", "ALTER USER own WITH PASSWORD '{}'", "DB_PW={} run", '{"passcode": "{}"}', '{"pass": "{}"}', 'x = {"jwt": "{}"}']  # fmt: skip
OTHERS = r"""
pin: 13; led_pin = 5; GPIO_PIN=27; {"pin": 12, "pins": [1, 2]}; pinMode(13, OUTPUT)
pin: PA5; pin = board.D13; spin=1000; mapping: 12345; shipping: 123456; ping: 1234
pin_memory=True; git pin: v1.2.3; pip pin==2024.1.1; "pin": "1.2.3"; pinned: 2024
Erlang/OTP 27; otp: 27.1; "otp_release": "26"; OTP-19045: fixed
status_code: 404; {"code": 1234, "error_code": 123456}; exit code 1234; zip_code=12345; country_code: 0049
encode(1234); decode: 1234; unicode=12345678; barcode: 4006381333931; opcode=1234; postcode: 12345
verification_code = make_code(user); otp = generate_otp(); pin = input("PIN: "); security_code: str
if code == 123456: pass
https://x.example/?code=404&lang=en; ?code=EXPIRED; code=abc
the password is wrong; the password is required; my password is not known; password is None
the password is "required"; the token is 'none'; your secret is safe with me; the API key is missing
The token is 32 bytes; the secret is 2fa; the password is sha256 hashed; the key is base64 encoded
password is at least 8-16 characters; a password for 2024 is set; the token is valid for 30days; the token was revoked.\n2. Your
PASS: test_foo1234; pass: 12; PASS 120 FAIL 3
pw = page_width; pw=2; psk: int; power: 12; {"pw": null}; tcp: 8080; http: 1234
password field and token2 name; set the password to something; invalid password "abc"
cvc4; cve: 2024; cv: 1234; CVC: 12
a mnemonic is a word: mov is the mnemonic for 88
lautet; Passwort ist falsch; mot de passe est requis
"""
PHRASE = "abandon ability able about above absent absorb abstract absurd abuse access {}"


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("form", lines(CODES))
def test_a_code_is_hidden_by_its_name(form: str) -> None:
    is_hidden(form, "471158")
    if not any(name in form for name in ("token-code", '"passcode"')):
        is_untouched(form.replace("{}", "12"))


@pytest.mark.parametrize("form", lines(MIXED))
def test_a_secret_is_hidden_that_is_told(form: str) -> None:
    is_hidden(form, "q7hunter2kx9ab3z1")


@pytest.mark.parametrize("form", WORDS)
def test_a_word_is_hidden_where_nothing_else_can_stand(form: str) -> None:
    is_hidden(form, "swordfish")


@pytest.mark.parametrize("form", [*lines(CODES), *lines(MIXED)])
def test_it_is_hidden_in_the_first_text_of_a_process(form: str) -> None:
    forget_shapes()
    text = form.replace("{}", "471158" if form in CODES else "q7hunter2kx9ab3z1")
    assert MARK in Redactor(b"k")(dump({"cmd": text}))


@pytest.mark.parametrize("text", lines(OTHERS))
def test_what_is_no_code_and_no_secret_stays(text: str) -> None:
    is_untouched(text)


@pytest.mark.parametrize("name", ["otp", "pin", "passcode", "mfa_code", "pwd"])
def test_a_field_is_known_also_where_nothing_else_stands(name: str) -> None:
    for value in ({name: "471158"}, {name: 471158}, {"a": json.dumps({name: "471158"})}):
        clean = Redactor(b"k")(json.dumps(value, separators=(",", ":")))
        assert "471158" not in clean and json.loads(clean).keys() == value.keys()


@pytest.mark.parametrize("form", ["mnemonic: {}", '{"mnemonic": "{}"}', "my seed phrase is {}", "recovery phrase: {}"])  # fmt: skip
def test_the_words_of_a_wallet_are_hidden(form: str) -> None:
    is_hidden(form.replace("{}", PHRASE), "account")


@pytest.mark.parametrize("piece", ["otp=", "pin: ", "1234 is your code ", "security_code", "password is ", "password for a", 'password "a', "my seed phrase is abc ", "mnemonic abc abc ", "?code=a", 'codes":["a",', "user a password b1"])  # fmt: skip
def test_no_code_makes_it_slow(piece: str) -> None:
    text = dump({"result": piece * (100_000 // len(piece))})
    before = time.process_time()
    Redactor(b"k")(text)
    assert time.process_time() - before < 4  # linear takes a part of it, quadratic minutes
