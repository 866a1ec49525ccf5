import { expect, test } from "vitest";
import {
  deleteUser,
  findUserById,
  insertUser,
} from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  findActiveToken,
  replaceToken,
} from "../../../../../storage/tables/forge/actions/runners.ts";
import {
  insertDelivery,
  insertPayload,
  recordAttempt,
} from "../../../../../storage/tables/forge/hooks/deliveries.ts";
import {
  deleteOrphanedHook,
  findHook,
  type HookPlace,
  insertHook,
} from "../../../../../storage/tables/forge/hooks/hooks.ts";
import {
  deleteRepository,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

test.each(["sqlite", "postgres"] as const)(
  "the hooks and registration tokens of a deleted repository or account go with it, on %s",
  async (engine) => {
    const db = await openTestDatabase({ engine });
    const owner = await db.transaction((tx) => insertUser(tx, newUserRow("mira")));
    const { id } = await db.transaction((tx) =>
      insertRepository(tx, newRepositoryRow(owner, "gate")),
    );
    const addHook = (place: HookPlace) =>
      db.transaction((tx) =>
        insertHook(
          tx,
          {
            scope: place.kind,
            repositoryId: place.kind === "repository" ? place.id : undefined,
            ownerId: place.kind === "owner" ? place.id : undefined,
            kind: "gitea",
            name: "",
            contentType: "json",
            events: [],
            branchFilter: "",
            slack: undefined,
            isActive: true,
          },
          () => "sealed",
        ),
      );
    const idle = await addHook({ kind: "repository", id });
    const busy = await addHook({ kind: "repository", id });
    const ofOwner = await addHook({ kind: "owner", id: owner.id });
    for (const level of [`repository/${id}`, `owner/${owner.id}`])
      await db.transaction((tx) => replaceToken(tx, { level, hash: level, seal: () => "sealed" }));
    const delivery = { hookId: busy.id, uuid: "u", event: "repository", isRedelivery: false };
    const deliveryId = await db.transaction(async (tx) =>
      insertDelivery(tx, { ...delivery, payloadId: await insertPayload(tx, "{}") }),
    );

    await db.transaction((tx) => deleteRepository(tx, id));
    expect(await findHook(db, idle.id)).toBe(undefined);
    expect(await findActiveToken(db, `repository/${id}`)).toBe(undefined);
    // The receiver must still hear of the deletion.
    await db.transaction((tx) => deleteOrphanedHook(tx, busy.id));
    expect(await findHook(db, busy.id)).toMatchObject({ repositoryId: undefined });
    await db.transaction(async (tx) => {
      await recordAttempt(tx, deliveryId, {
        state: "delivered",
        attempts: 1,
        attemptedAt: tx.now,
        nextAttemptAt: undefined,
        durationMs: 1,
        requestHeaders: undefined,
        responseStatus: 200,
        responseHeaders: undefined,
        responseBody: undefined,
        error: undefined,
      });
      await deleteOrphanedHook(tx, busy.id);
    });
    expect(await findHook(db, busy.id)).toBe(undefined);

    expect(await findHook(db, ofOwner.id)).toBeDefined();
    const current = (await findUserById(db, owner.id)) ?? owner;
    await db.transaction((tx) => deleteUser(tx, current));
    expect(await findHook(db, ofOwner.id)).toBe(undefined);
    expect(await findActiveToken(db, `owner/${owner.id}`)).toBe(undefined);
    await db.close();
  },
);
