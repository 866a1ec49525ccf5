import type { AnyEndpoint } from "./endpoint.ts";

/** Every operation that the daemon serves, in the order of the documents. Tests, OpenAPI and the command line read it. */
export const allEndpoints: readonly AnyEndpoint[] = [];
