"""An OAuth issuer on loopback that changes its keys: its metadata, its key set, and access tokens signed by RS256."""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import time

LIFETIME, RENEWED_BEFORE = 60, 30
"""For how many seconds a token is good, and how long before its end there is a newer one."""
SMALL_PRIMES = [n for n in range(3, 2000, 2) if all(n % m for m in range(3, int(n**0.5) + 1, 2))]
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
"""What stands before the digest in a signature: RFC 8017, 9.2, note 1."""


def is_prime(number):
    """By Miller and Rabin: of numbers chosen at random, 20 rounds leave no doubt."""
    if any(number % prime == 0 for prime in SMALL_PRIMES):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(20):
        power = pow(secrets.randbelow(number - 3) + 2, odd, number)
        if power not in (1, number - 1) and not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def new_prime(bits):
    # The two highest bits are set, so that a product of two has twice as many.
    while not is_prime(number := secrets.randbits(bits) | 3 << bits - 2 | 1):
        pass
    return number


def encode(value):
    if isinstance(value, dict):
        value = json.dumps(value).encode()
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class SigningKey:
    """An RSA key of 2048 bits."""

    exponent = 65537

    def __init__(self, kid):
        self.kid, self.needed_until = kid, 0
        while True:
            one, other = new_prime(1024), new_prime(1024)
            if one != other and (one - 1) % self.exponent and (other - 1) % self.exponent:
                break
        self.modulus, self.secret = one * other, pow(self.exponent, -1, (one - 1) * (other - 1))

    def jwk(self):
        number = lambda value: encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": number(self.modulus), "e": number(self.exponent)}

    def sign(self, claims):
        message = encode({"alg": "RS256", "typ": "at+jwt", "kid": self.kid}) + "." + encode(claims)
        digest = SHA256_PREFIX + hashlib.sha256(message.encode()).digest()
        padded = b"\0\1" + b"\xff" * (253 - len(digest)) + b"\0" + digest
        signature = pow(int.from_bytes(padded, "big"), self.secret, self.modulus)
        return message + "." + encode(signature.to_bytes(256, "big"))


class Token:
    def __init__(self, key, claims):
        self.kid, self.expires, self.text = key.kid, claims["exp"], key.sign(claims)


class Issuer:
    """The issuer of tokens for somebody."""

    def __init__(self, audience):
        self.audience, self.lock, self.keys, self.newest = audience, threading.Lock(), [SigningKey("key-1")], None
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        metadata = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        with self.lock:
            # One that signs no more is withdrawn when all of its tokens have expired.
            self.keys = [key for key in self.keys if key is self.keys[-1] or key.needed_until > time.time()]
            keys = {"keys": [key.jwk() for key in self.keys]}
        found = {"/.well-known/oauth-authorization-server": metadata, "/keys": keys}.get(request.path)
        request.send_response(200 if found else 404)
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        request.wfile.write(json.dumps(found).encode())

    def token(self):
        """A token of the key that signs now, which is good for a while."""
        with self.lock:
            if not self.newest or self.newest.expires < time.time() + RENEWED_BEFORE:
                key, at = self.keys[-1], int(time.time())
                claims = {"iss": self.url, "aud": self.audience, "sub": "interop", "client_id": "interop", "iat": at, "exp": at + LIFETIME}
                self.newest, key.needed_until = Token(key, claims), at + LIFETIME
            return self.newest

    def add_key(self):
        """A key beside those there are, which signs from now on."""
        key = SigningKey(f"key-{int(self.keys[-1].kid[4:]) + 1}")
        with self.lock:
            self.keys, self.newest = [*self.keys, key], None
