import type { SecureContext } from "node:tls";
import { type Dispatcher, ProxyAgent, request as send } from "undici";
import type { OpenResponse, OutgoingRequest } from "./request.ts";

/** Sends one request through an HTTP proxy; https is tunnelled. */
export async function openThroughProxy(
  proxy: string,
  { url, method, headers, body, signal }: OutgoingRequest,
  secureContext: SecureContext | undefined,
): Promise<OpenResponse> {
  const tls = secureContext === undefined ? {} : { secureContext };
  const dispatcher = new ProxyAgent({ uri: proxy, requestTls: tls });
  try {
    const response = await send(url, {
      dispatcher,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      signal,
    });
    // Waits for the body, then closes the connection, so that the process can end.
    dispatcher.close().catch(() => undefined);
    response.body.on("error", () => undefined);
    return { status: response.statusCode, headers: response.headers, stream: response.body };
  } catch (error) {
    await dispatcher.destroy();
    throw error;
  }
}
