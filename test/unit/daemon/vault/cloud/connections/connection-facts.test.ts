import { expect, test } from "vitest";
import { createS3Type } from "../../../../../../storage/cloud/s3/provider.ts";
import { startS3Server } from "../../../../../stand-ins/s3-server.ts";
import { SMALL_PARTS } from "../../../../../support/cloud/s3-subject.ts";
import { openTestCloud } from "../../../../../support/cloud/vault-cloud.ts";

test("the results of testing a connection apply from the next call on", async () => {
  await using server = await startS3Server();
  await using t = await openTestCloud({ providerTypes: [createS3Type(SMALL_PARTS)] });
  const mira = await t.addUser("mira");
  const result = await t.cloud.connections.create(mira, {
    provider: "s3",
    display_name: "Bucket",
    settings: { endpoint: server.origin, bucket: server.bucket },
    credentials: { access_key_id: server.key.id, secret_access_key: server.key.secret },
  });
  if (result.kind !== "connected") throw new Error(result.kind);
  const { id } = result.connection;
  const makeAndDelete = async (name: string) => {
    await t.cloud.changes.createFolder(mira, id, { parent_ref: null, name });
    return t.cloud.changes.delete(mira, { connection_id: id, item_id: name });
  };
  expect(await makeAndDelete("one")).toMatchObject({ kind: "deleted", how: "permanent" });
  server.store.isVersioned = true;
  expect((await t.cloud.connections.test(mira, id)).status).toBe("connected");
  expect(await makeAndDelete("two")).toMatchObject({ kind: "deleted", how: "trashed" });
  expect(t.errors).toEqual([]);
});
