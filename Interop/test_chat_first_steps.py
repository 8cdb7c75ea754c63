"""What docs/operations/chat.md tells a newcomer to type, typed as it stands there."""

import json
import re
import subprocess

from support.evidence import REPOSITORY
from support.waiting import PATIENCE

TEXT = (REPOSITORY / "docs" / "operations" / "chat.md").read_text()
EXAMPLE = "https://chat.example.org/api/v1"


def test_the_first_steps_by_hand(roost, tmp_path):
    server = roost.serve("--data", tmp_path)
    section = TEXT.partition("\n## First steps\n")[2].partition("\n## ")[0]
    [steps] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert EXAMPLE in steps
    here = f"http://127.0.0.1:{server.port}/api/v1"
    done = subprocess.run(
        ["bash", "-euc", "set -o pipefail\n" + steps.replace(EXAMPLE, here)], capture_output=True, text=True, timeout=PATIENCE,
        check=False)
    assert done.returncode == 0, done.stderr
    # What is printed: the answers to registering, to the message and to the question for messages, and the secret.
    decoder, printed, rest = json.JSONDecoder(), [], done.stdout
    while rest.startswith("{"):
        answer, end = decoder.raw_decode(rest)
        printed.append(answer)
        rest = rest[end:]
    registered, posted, listed = printed
    assert registered == {"is_verification_required": False}
    assert posted["content"] == "Hello, *everybody*"
    assert posted["id"] in [message["id"] for message in listed["items"]]
    assert re.fullmatch(r"[\w-]{40,}\n", rest), rest
