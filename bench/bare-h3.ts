import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { H3, toNodeHandler } from "h3";

// A minimal h3 server: the baseline for the daemon's own routes.
const app = new H3();
app.get("/api/v1/version", () => ({ version: "28.2.0" }));
const server = createServer(toNodeHandler(app) as never);
server.listen(0, "127.0.0.1", () => {
  console.log(
    JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
  );
});
process.once("SIGTERM", () => process.exit(0));
