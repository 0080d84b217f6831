"""What commands are given: a flag's word is a secret with one command and a folder, a number or a name with another."""

from __future__ import annotations

import time

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction import known_commands
from loopguard_core.redaction.known_secrets import TAKERS
from loopguard_core.redaction.redact import MARK, Redactor
from redacted import is_hidden, is_untouched
from shapes import forget_shapes

FORMS = r"""
ssh-keygen -t ed25519 -N {} -f id
ssh-keygen -q -N "{}" -f id
ssh-keygen -p -P {} -N '' -f id
/usr/bin/ssh-keygen -f id -N '{}'
gh secret set NAME --body {}
gh secret set NAME --body="{}" -R o/r
gh secret set NAME -b {}
gh secret set NAME -b"{}"
az login --service-principal -u app -p {} --tenant t
az login --service-principal --username app -p {}
az login -p {} -u usr
az login --username usr --password={}
az keyvault secret set --vault-name v --name n --value {}
aws ssm put-parameter --name /x --type SecureString --value {}
docker login -p {} -u usr
sudo docker login --username usr -p {} r.example
helm registry login -u usr -p {} r.example
mongosh --host h --username usr -p {}
mongorestore -u=usr -p={}
sqlcmd -S h -U sa -P '{}' -Q 'select 1'
mosquitto_pub -h h -u usr -P {} -t x -m y
ipmitool -H h -U usr -P {} power status
zip -e -P{} a.zip b
snmpwalk -v3 -u usr -A {} h
openssl enc -aes-256-cbc -k {} -in f
dotnet nuget push x.nupkg -k {} -s y
doctl auth init -t {}
security add-generic-password -a usr -s svc -w {}
useradd -m -p '{}' usr
twine upload -p {} dist/x
skopeo copy --src-creds usr:{} docker://a docker://b
skopeo copy --dest-creds=usr:{} docker://a docker://b
http -a usr:{} https://x.example
http --auth usr:{} https://x.example
curl -uusr:{} https://x.example
curl -su usr:{} https://x.example
curl -sSL -u "usr:{}" https://x.example
curl -u :{} https://x.example
curl --user usr:{} https://x.example
curl --cert cert.pem:{} https://x.example
curl --oauth2-bearer {} https://x.example
lftp -u usr,{} ftp://h
cd x && curl -u usr:{} https://x.example | tee log
"""
OTHERS = r"""
sort -u a:b
tar -u file:x -f y.tar
docker run --user app:staff -u 1000:1000 x
docker run -p 8080:80 -w /app -a stdout x
cp -p file other && mkdir -p build/keys && ls -a dir
git commit -a -m all; git push -u origin:branch
psql -U usr -w -d db; ls -w 80
ssh -p 2222 -N host; ssh -N -L 1:b:2 host
sort -k 2 f; make -k all; du -k dir
gh pr create --body text -b main; gh issue list
az vm list -p x; aws s3api put-object --body file
zip -r out.zip dir; unzip in.zip -x y
ssh-keygen -N '' -f id; ssh-keygen -N "" -t rsa
curl -u "$USER:$PASS" https://x.example; curl -u usr https://x.example
echo curl; sort -u a:b
docker login r.example; cp -p file other
set body --value x --user name --cert file.pem --auth none
"""
GOES_ON = "curl {}\n  -X POST {}\n  -u usr:hunter2hunter {}\n  https://x.example"


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("form", lines(FORMS))
@pytest.mark.parametrize("secret", ["swordfish", "hunter2hunter"])
def test_a_word_that_a_command_takes_is_hidden(form: str, secret: str) -> None:
    is_hidden(form, secret)


@pytest.mark.parametrize("form", lines(FORMS))
def test_it_is_hidden_in_the_first_text_of_a_process(form: str) -> None:
    forget_shapes()
    assert MARK in Redactor(b"k")(dump({"cmd": form.replace("{}", "swordfish")}))


@pytest.mark.parametrize("text", lines(OTHERS))
def test_the_same_flag_of_another_command_is_not(text: str) -> None:
    is_untouched(text)


@pytest.mark.parametrize("sign", ["\\", "`"])
def test_a_command_goes_on_behind_the_end_of_a_line(sign: str) -> None:
    is_hidden(GOES_ON.format(*[sign] * 3).replace("hunter2hunter", "{}"), "hunter2hunter")


def test_no_command_is_passed_over() -> None:
    for flag, commands in known_commands._BY_FLAG.items():
        for command, word in commands.items():
            named = f"{command} {word}"
            assert flag == "store" or any(part in named for part in TAKERS), named


def test_a_command_ends_with_its_line() -> None:
    for end in ("\n", "; ", " && ", " | ", "\r\n"):
        is_untouched(f"curl https://x.example{end}sort -u usr:name")


def test_a_name_is_no_word_of_a_list() -> None:
    whole = dump({"cmd": "ssh-keygen -N", "x": "y"})
    assert Redactor(b"k")(whole) is whole


@pytest.mark.parametrize("text", ["Authorization: required", "Authorization: none", "Cookie: optional.", "Authorization: only admins may do that", "proxy_authorization = None", "Keep Authorization: headers on a redirect."])  # fmt: skip
def test_what_is_said_about_a_header_is_no_secret(text: str) -> None:
    is_untouched(text)


@pytest.mark.parametrize("form", ["Authorization: {}", "authorization: Bearer {}", "'Authorization': 'Basic {}'", "Cookie: sid={}; b=c"])  # fmt: skip
def test_what_stands_in_a_header_is_one(form: str) -> None:
    is_hidden(form, "hunter2hunter")


@pytest.mark.parametrize("piece", ["curl -u a:b ", "curl -u ", "-u a:b ", " -P 'a", ' -N "', "-N','", "ssh-keygen -N a\\\n", "Authorization: a "])  # fmt: skip
def test_no_command_line_makes_it_slow(piece: str) -> None:
    text = dump({"result": piece * (100_000 // len(piece))})
    before = time.process_time()
    Redactor(b"k")(text)
    assert time.process_time() - before < 4  # linear takes a part of it, quadratic minutes
