"""Carries connections from a port on loopback to a socket in a file, while a program runs.

In the sandbox there is no other network; the socket leads to the gateway, which is outside of it.
"""

import os
import socket
import subprocess
import sys
import threading


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        try:
            end.shutdown(how)
        except OSError:
            pass


def carry(client, path):
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(path)
    except OSError:
        client.close()
        return
    back = threading.Thread(target=pump, args=(server, client), daemon=True)
    back.start()
    pump(client, server)
    back.join()
    client.close()
    server.close()


def main():
    path, command = sys.argv[1], sys.argv[2:]
    listener = socket.create_server(("127.0.0.1", 0))
    address = "http://127.0.0.1:%d/v1" % listener.getsockname()[1]

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=carry, args=(client, path), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    variables = dict(os.environ, OPENAI_BASE_URL=address, OPENAI_API_BASE=address)
    sys.exit(subprocess.run(command, env=variables).returncode)


main()
