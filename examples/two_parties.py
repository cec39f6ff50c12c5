"""Two parties in two processes: a shop learns which of its customers read a newsletter.

It needs the package `vesica` and nothing else. The tables are those of `vesica quickstart`. In real use each party runs
its half on a machine of its own.
"""

import multiprocessing
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import vesica

TABLES = Path(__file__).parent / "quickstart"


def newsletter(folder: Path, shop_key: str, pipe: Connection) -> None:
    """The sender: waits for the shop, and learns how many different addresses the shop has."""

    def heard(event: vesica.Event) -> None:
        if event["event"] == "listening":
            pipe.send(event["address"])

    report = vesica.send(
        TABLES / "newsletter.csv",
        key="mail:email",
        listen="127.0.0.1:0",
        identity=folder / "newsletter.pem",
        peer=shop_key,
        events=heard,
    )
    pipe.send(report.sizes.peer_items)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Each party makes an identity, and gives the public key to the other.
        shop_key = vesica.keygen(folder / "shop.pem")
        newsletter_key = vesica.keygen(folder / "newsletter.pem")
        pipe, theirs = multiprocessing.Pipe()
        processes = multiprocessing.get_context("spawn")
        partner = processes.Process(target=newsletter, args=(folder, shop_key, theirs), daemon=True)
        partner.start()
        # Then the end of that process ends the wait for it.
        theirs.close()
        vesica.receive(
            TABLES / "customers.csv",
            key="Email:email",
            connect=pipe.recv(),
            identity=folder / "shop.pem",
            peer=newsletter_key,
            output=folder / "matched.csv",
        )
        print((folder / "matched.csv").read_text(), end="")
        print(f"the newsletter learned one number: the shop has {pipe.recv()} different addresses")
        partner.join()


if __name__ == "__main__":
    main()
