import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";

/** What the provider puts into its next ID token; each member replaces what an honest one says. */
export interface HostileAnswer {
  readonly claims?: Readonly<Record<string, unknown>>;
  /** `none`: unsigned. `secret`: with the client's secret. `foreign`: by a key that it does not publish. */
  readonly signedBy?: "none" | "secret" | "foreign";
  /** The token endpoint sends the request elsewhere. */
  readonly redirectsTo?: string;
  /** The token endpoint is out of order: it answers with 502, or closes the connection. */
  readonly fails?: "answers" | "closes";
}

const SECRET = "a-secret-of-thirty-two-bytes-or-more";

/**
 * An OpenID provider on loopback that answers as a test wants. Its page signs everybody in at once and sends the browser back;
 * a test may call the callback itself instead.
 * @param host the name in its addresses: `localhost` is another site than `127.0.0.1`
 */
export async function startOpenidProvider(clientId: string, host = "127.0.0.1") {
  const [own, foreign] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")];
  const jwk = { ...(await exportJWK(own.publicKey)), kid: "one", alg: "RS256", use: "sig" };
  let answer: HostileAnswer = {};
  let nonce = "";
  const codes = new Set<string>();
  const server = createServer((request, response) => {
    const send = (status: number, body: unknown, headers = {}) =>
      void response
        .writeHead(status, { "Content-Type": "application/json", ...headers })
        .end(JSON.stringify(body));
    const path = request.url ?? "";
    if (path === "/.well-known/openid-configuration")
      return send(200, {
        issuer: url(),
        authorization_endpoint: `${url()}/auth`,
        token_endpoint: `${url()}/token`,
        jwks_uri: `${url()}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
      });
    if (path.startsWith("/auth?")) {
      const asked = new URL(path, url()).searchParams;
      const code = `code-${codes.size}`;
      codes.add(code);
      nonce = asked.get("nonce") ?? "";
      const back = new URL(asked.get("redirect_uri") ?? "");
      back.search = new URLSearchParams({ code, state: asked.get("state") ?? "" }).toString();
      return send(302, {}, { Location: back.href });
    }
    if (path === "/jwks") return send(200, { keys: [jwk] });
    if (path !== "/token") return send(404, {});
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      if (answer.fails === "closes") return request.destroy();
      if (answer.fails === "answers") return send(502, {});
      if (answer.redirectsTo !== undefined) return send(307, {}, { Location: answer.redirectsTo });
      const code = new URLSearchParams(body).get("code") ?? "";
      if (!codes.delete(code)) return send(400, { error: "invalid_grant" });
      sign().then(
        (id_token) => send(200, { access_token: "access", token_type: "Bearer", id_token }),
        (error: unknown) => send(500, { error: String(error) }),
      );
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, host, () => listening.resolve());
  await listening.promise;
  const url = () => `http://${host}:${(server.address() as AddressInfo).port}`;

  async function sign(): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: url(),
      aud: clientId,
      sub: "person",
      iat: now,
      exp: now + 300,
      nonce,
      ...answer.claims,
    };
    if (answer.signedBy === "none") return new UnsecuredJWT(claims).encode();
    if (answer.signedBy === "secret")
      return new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(SECRET));
    const key = answer.signedBy === "foreign" ? foreign.privateKey : own.privateKey;
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(key);
  }

  return {
    secret: SECRET,
    url,
    /** Makes what the next ID tokens say. */
    answer(next: HostileAnswer): void {
      answer = next;
    },
    /** Makes a code whose ID token is as `hostile` says. */
    issue(code: string, ofNonce: string, hostile: HostileAnswer = {}): void {
      codes.add(code);
      nonce = ofNonce;
      answer = hostile;
    },
    async close(): Promise<void> {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}
