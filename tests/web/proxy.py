"""A reverse proxy before the page's server, and what it was asked for."""

import http.client
import http.server
import re
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.path.startswith(self.server.prefix):
            self.send_error(404)
            return
        path = "/" + self.path[len(self.server.prefix):]
        self.server.asked.append(path)
        if self.server.refused and re.search(self.server.refused, path):
            self.send_error(self.server.refusal)
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        connection = http.client.HTTPConnection(self.server.target)
        try:
            try:
                connection.request("GET", path, headers=headers)
            except ConnectionRefusedError:
                self.send_error(502)
                return
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            # A stream's messages as they come.
            while chunk := answer.read1(1 << 16):
                self.wfile.write(chunk)
        except ConnectionError:
            # The browser has gone.
            pass
        finally:
            connection.close()

    def log_message(self, *_):
        pass


class PrefixProxy(http.server.ThreadingHTTPServer):
    """Has the server's `target` below its `prefix`, as a reverse proxy's `location /deep/search/` does that hands on the
    browser's Host. For GET. `asked`: paths without the prefix. `refused`: a regular expression; paths in which it is found
    get the status `refusal`, as if the server did not answer them."""

    daemon_threads = True

    def __init__(self, target, prefix):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.prefix, self.asked = target, prefix, []
        self.refused, self.refusal = "", 502
        self.address = "http://127.0.0.1:%d%s" % (self.server_port, prefix)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()
