"""The tokens of each vendor, in the form that it documents or public secret scanners know, wherever one may stand."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from random import Random

import pytest

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from shapes import forget_shapes

_LETTERS = {
    "hex": "0123456789abcdef",
    "num": string.digits,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "any": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "-_",
    "b64": string.ascii_letters + string.digits + "+/",
}

#: What a token looks like: ``<letters:length>`` stands for that many of them.
FORMS = """
1Password account      A3-<up:6>-<up:11>-<up:5>-<up:5>-<up:5>
1Password service      ops_eyJ<any:250>
Adobe                  p8e-<hex:32>
Age                    AGE-SECRET-KEY-1<up:58>
Airtable               pat<any:14>.<hex:64>
Alibaba                LTAI<any:20>
Amazon                 AKIA<up:16>
Amazon session         ASIA<up:16>
Amazon Bedrock         ABSK<b64:109>
Anthropic              sk-ant-api03-<url:93>AA
Anthropic admin        sk-ant-admin01-<url:93>AA
Apify                  apify_api_<any:36>
Artifactory            AKCp<any:69>
Artifactory reference  cmVmdGtuOjA<any:53>
Atlassian              ATATT3<url:186>
Atlassian, Bitbucket   ATCTT3<url:186>
Azure                  <any:3>8Q~<any:34>
Bitbucket              ATBB<any:32>
Buildkite              bkua_<hex:40>
Cerebras               csk-<low:48>
Clojars                CLOJARS_<hex:60>
Cloudflare key         cfk_<any:40><hex:8>
Cloudflare user        cfut_<any:40><hex:8>
Cloudflare account     cfat_<any:40><hex:8>
Cloudflare origin      v1.0-<hex:24>-<hex:146>
Context7               ctx7sk-<hex:8>-<hex:24>
Databricks             dapi<hex:32>
Databricks with number dapi<hex:32>-2
Daytona                dtn_<hex:64>
Defined Networking     dnkey-<up:26>-<up:52>
Deno                   ddp_<any:36>
DigitalOcean           dop_v1_<hex:64>
DigitalOcean OAuth     doo_v1_<hex:64>
DigitalOcean refresh   dor_v1_<hex:64>
Discord bot            MTIzNDU2Nzg5MDEyMzQ1Njc4.G<any:5>.<url:38>
Discord bot, 19        MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.G<any:5>.<url:38>
Discord bot, 17        OTIzNDU2Nzg5MDEyMzQ1Njc.G<any:5>.<url:27>
Discord hook           https://discord.com/api/webhooks/123456789012345678/<url:68>
Docker                 dckr_pat_<any:27>
Docker organisation    dckr_oat_<any:32>
Doppler                dp.pt.<any:43>
Doppler service        dp.st.prd.<any:43>
Dropbox                sl.<url:135>
Duffel                 duffel_live_<any:43>
Dynatrace              dt0c01.<up:24>.<up:64>
E2B                    e2b_<hex:40>
EasyPost               EZAK<any:54>
ElevenLabs             sk_<hex:48>
Facebook               EAAC<any:120>
Figma                  figd_<url:40>
Firecrawl              fc-<hex:32>
Fleetbase              flb_live_<any:20>
Flutterwave            FLWSECK-<hex:32>-X
Flutterwave test       FLWSECK_TEST-<hex:32>-X
Fly                    fo1_<url:43>
Fly macaroon           fm2_lJPECAAAAAAA<b64:120>
Frame.io               fio-u-<url:64>
GitHub                 ghp_<any:36>
GitHub OAuth           gho_<any:36>
GitHub app             ghs_<any:36>
GitHub fine            github_pat_<any:22>_<any:59>
GitLab                 glpat-<url:20>
GitLab pipeline        glptt-<hex:40>
GitLab deploy          gldt-<url:20>
GitLab runner          glrt-<url:20>
GitLab job             glcbt-<hex:5>_<url:20>
GitLab feed            glft-<url:20>
GitLab mail            glimt-<url:25>
GitLab agent           glagent-<url:50>
GitLab OAuth           gloas-<hex:64>
GitLab SCIM            glsoat-<url:20>
Google API             AIza<url:35>
Google OAuth           GOCSPX-<url:28>
Google access          ya29.a0<url:120>
Grafana                glsa_<any:32>_<hex:8>
Grafana cloud          glc_eyJ<any:80>
Grafana key            eyJrIjoi<any:80>
Groq                   gsk_<any:52>
Harness                pat.<url:22>.<hex:24>.<any:20>
Heroku                 HRKU-AA<url:58>
HubSpot                pat-na1-<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>
Hugging Face           hf_<any:34>
Hugging Face org       api_org_<any:34>
Infracost              ico-<any:32>
Intra42                s-s4t2ud-<hex:64>
Jina                   jina_<hex:32><any:20>
JWT                    eyJhbGciOiJIUzI1NiJ9.eyJ<any:30>.<url:43>
LangSmith              lsv2_pt_<hex:32>_<hex:10>
LaunchDarkly           sdk-<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>
Linear                 lin_api_<any:40>
Linear OAuth           lin_oauth_<hex:64>
LlamaCloud             llx-<any:48>
Lob                    live_<hex:35>
Logfire                pylf_v1_us_<any:43>
Mailchimp              <hex:32>-us12
Mailgun                key-<hex:32>
MaxMind                <any:6>_<any:29>_mmk
Neon                   napi_<low:64>
Netlify                nfp_<any:36>
New Relic              NRAK-<up:27>
New Relic insert       NRII-<url:32>
Notion                 ntn_<num:11><any:35>
Notion, older          secret_<any:43>
npm                    npm_<any:36>
NVIDIA                 nvapi-<url:64>
Octopus                API-<up:26>
OpenAI                 sk-proj-<url:74>T3BlbkFJ<url:74>
OpenAI, older          sk-<any:20>T3BlbkFJ<any:20>
OpenRouter             sk-or-v1-<hex:64>
OpenShift              sha256~<url:43>
Perplexity             pplx-<any:48>
Pinecone               pcsk_<any:5>_<any:63>
Plaid                  access-sandbox-<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>
PlanetScale            pscale_tkn_<url:43>
PlanetScale OAuth      pscale_oauth_<url:43>
PlanetScale password   pscale_pw_<url:43>
Postman                PMAK-<hex:24>-<hex:34>
PostHog                phx_<any:43>
Prefect                pnu_<any:36>
Pulumi                 pul-<hex:40>
PyPI                   pypi-AgEIcHlwaS5vcmc<url:80>
Razorpay               rzp_live_<any:16>
ReadMe                 rdme_<low:70>
Render                 rnd_<any:32>
Replicate              r8_<any:37>
Resend                 re_<any:8>_<any:24>
RubyGems               rubygems_<hex:48>
Scalingo               tk-us-<url:48>
SendGrid               SG.<url:22>.<url:43>
Sendinblue             xkeysib-<hex:64>-<any:16>
Sentry user            sntryu_<hex:64>
SettleMint             sm_pat_<any:16>
Shippo                 shippo_live_<hex:40>
Shopify                shpat_<hex:32>
Slack bot              xoxb-<num:12>-<num:13>-<any:24>
Slack user             xoxp-<num:12>-<num:12>-<num:12>-<hex:32>
Slack app              xapp-1-A<up:10>-<num:13>-<hex:64>
Slack configuration    xoxe.xoxp-1-<any:163>
Slack hook             https://hooks.slack.com/services/T<up:10>/B<up:10>/<any:24>
Slack workflow         https://hooks.slack.com/triggers/T<up:10>/<num:13>/<hex:32>
Sonar                  squ_<hex:40>
Sourcegraph            sgp_<hex:16>_<hex:40>
Square                 sq0atp-<url:22>
Square OAuth           sq0csp-<url:43>
Stripe                 sk_live_<any:24>
Stripe restricted      rk_prod_<any:99>
Stripe hook            whsec_<any:32>
Supabase               sbp_<hex:40>
Supabase secret        sb_secret_<url:31>
Tailscale              tskey-auth-<any:16>-<any:32>
Tavily                 tvly-<any:32>
Teams hook             https://x.webhook.office.com/webhookb2/<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>@<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>/IncomingWebhook/<hex:32>/<hex:36>
Telegram               123456789:AA<url:33>
Terraform              <any:14>.atlasv1.<url:67>
Together               tgp_v1_<url:43>
Typeform               tfp_<url:59>
Vault                  hvs.<url:95>
Vault, short           hvs.<any:24>
Vault batch            hvb.<url:138>
Vault recovery         hvr.<any:24>
Vault, older           s.<any:24>
Vercel                 vcp_<url:56>
Vercel key             vck_<url:56>
Weights & Biases       wandb_v1_<any:40>
xAI                    xai-<any:80>
Yandex                 AQVN<url:36>
Zapier hook            https://hooks.zapier.com/hooks/catch/<num:7>/<low:7>
"""
VENDORS = [line.rsplit(None, 1) for line in FORMS.strip().splitlines()]


def made(form: str, seed: int = 0) -> str:
    """A token of *form*, random and the same each time; without what would make it look like words."""
    random = Random(f"{form}{seed}")

    def some(match: re.Match[str]) -> str:
        letters = _LETTERS[match[1]]
        body = [
            random.choice(letters.replace("-", "").replace("_", "")),
            *random.choices(letters, k=int(match[2]) - 2),
        ]
        return "".join((*body, random.choice("3579")))

    return re.sub(r"<(\w+):(\d+)>", some, form.strip())


#: What stands around a token, as an event's text.
CONTEXTS: dict[str, Callable[[str], str]] = {
    "alone": lambda t: dump(t),
    "in a value": lambda t: dump({"result": t}),
    "in a sentence": lambda t: dump({"result": f"use {t} for it"}),
    "at the end of a sentence": lambda t: dump({"result": f"It is {t}.\nAnd then"}),
    "on a line of its own": lambda t: dump({"result": f"here:\n{t}\nthere"}),
    "in quotes": lambda t: dump({"result": f'client = Client("{t}")'}),
    "in single quotes": lambda t: dump({"cmd": f"login '{t}' now"}),
    "as a word": lambda t: dump({"argv": ["login", t, "-v"]}),
    "in JSON inside": lambda t: dump({"result": json.dumps({"value": t, "n": 1})}),
    "in JSON inside JSON inside": lambda t: dump({"result": json.dumps({"x": json.dumps([t, 2])})}),
    "in YAML": lambda t: dump({"result": f"first: {t}\nsecond: 2\n"}),
    "in a shell": lambda t: dump({"cmd": f"export X={t}; run | tee $X"}),
    "in a table": lambda t: dump({"result": f"name\tvalue\nx\t{t}\n"}),
    "in a query": lambda t: dump({"url": f"https://x.example/?a=1&v={t}&b=2"}),
    "escaped": lambda t: json.dumps({"result": f"ü {t}\u2028x"}),
}


@pytest.mark.parametrize(("vendor", "form"), VENDORS, ids=[name for name, _ in VENDORS])
def test_a_token_is_found_in_all_contexts(vendor: str, form: str) -> None:
    redact = Redactor(b"k")
    for seed in range(2):
        token = made(form, seed)
        tail = re.split(r"[.~/=:_-]", token)[-1][-12:]
        for where, around in CONTEXTS.items():
            whole = around(token)
            if token.startswith("https") and "query" in where:
                continue
            clean = redact(whole)
            assert MARK in clean, (vendor, where, whole)
            assert tail not in clean or len(tail) < 5, (vendor, where, clean)
            assert json.loads(clean).__class__ is json.loads(whole).__class__, (vendor, where)
            assert redact(clean) == clean, (vendor, where)


@pytest.mark.parametrize(("vendor", "form"), VENDORS, ids=[name for name, _ in VENDORS])
def test_a_token_is_found_in_the_first_text_of_a_process(vendor: str, form: str) -> None:
    forget_shapes()
    assert MARK in Redactor(b"k")(dump({"result": made(form)}))
