import { getGlobalDispatcher } from "undici";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import { PermanentJobError } from "../../../../daemon/jobs/job-kind.ts";
import { createGuardedRequest } from "../../../../daemon/outbound/guarded-request.ts";
import { createEmbedder, type EmbeddingModel } from "../../../../daemon/vault/ai/embedder.ts";
import { createAiClient } from "../../../../daemon/vault/ai/provider-client.ts";
import { toPassages, createSemanticIndex } from "../../../../daemon/vault/search/semantic-index.ts";
import {
  createSemanticSearch,
  fuseRanks,
} from "../../../../daemon/vault/search/semantic-search.ts";
import {
  findDocument,
  insertDocument,
} from "../../../../storage/tables/vault/documents/documents.ts";
import { putSearchEntry } from "../../../../storage/tables/vault/search-entries.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import {
  AI_EMBEDDING_MODEL,
  AI_KEY,
  AI_RETRY_AFTER_S,
  type AiBehaviour,
  type AiServer,
  startAiServer,
} from "../../../stand-ins/ai-server.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";

let server: AiServer;
beforeAll(async () => {
  server = await startAiServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.behaviour = "answers";
  server.dimensions = 8;
});

const ID = toDocumentId("01a1fdff-ed3d-7ce1-8986-d032f4367fd1");
const signal = new AbortController().signal;

/** An index over one document with a text, and the stand-in as its provider. */
async function openIndex(body: string, providerId: "ollama" | "openai" = "ollama") {
  const db = await openTestDatabase();
  await db.transaction(async (tx) => {
    await insertVaultUser(tx, {
      id: toAccountId("u"),
      handle: "mira",
      email: "mira@example.org",
      passwordHash: "",
      role: "user",
      passwordMustChange: false,
    });
    await insertDocument(tx, {
      id: ID,
      userId: toAccountId("u"),
      filename: "a.txt",
      contentType: "text/plain",
      sizeBytes: 1,
      sha256: "0".repeat(64),
      storageBackend: "internal",
      connectionId: undefined,
      providerItemId: undefined,
    });
    await putSearchEntry(tx, {
      userId: toAccountId("u"),
      source: { documentId: ID },
      title: "a.txt",
      body,
      contentType: "text/plain",
      connectionId: undefined,
    });
  });
  const provider = {
    providerId,
    baseUrl: providerId === "ollama" ? server.origin : `${server.origin}/v1`,
    apiKey: providerId === "ollama" ? undefined : AI_KEY,
    modelName: "chat",
    embeddingModelName: AI_EMBEDDING_MODEL,
  } as const;
  const client = createAiClient(
    { request: createGuardedRequest(getGlobalDispatcher()), clock: () => 0 },
    { listTimeoutMs: 1000, chooseTimeoutMs: 1000, embedTimeoutMs: 300 },
  );
  const key = { isReadable: true };
  const findActive = async () => {
    if (!key.isReadable)
      throw new AppError("provider_failed", "The stored API key cannot be read.");
    return provider;
  };
  const embedder = createEmbedder({ config: { findActive }, client });
  const index = createSemanticIndex({ db, enqueue: async () => 1, embedder });
  const [job] = index.jobs;
  return {
    db,
    key,
    index,
    embedder,
    search: createSemanticSearch({ db, embedder }),
    run: async () => job?.run({ document_id: ID }, { id: 1, attempt: 1, signal }),
    abandon: () => db.transaction(async (tx) => job?.onAbandoned?.(tx, { document_id: ID })),
    status: async () => (await findDocument(db, ID))?.semanticIndexStatus,
    passages: () =>
      db.all<{ start_offset: number; end_offset: number }>("SELECT * FROM vault_search_passages"),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

describe("the job of a text", () => {
  test("stores passages that cover the text, again with the same result", async () => {
    const body = "The car is in the garage. ".repeat(200);
    await using scene = await openIndex(body);
    await scene.run();
    await scene.run();
    expect(await scene.status()).toBe("ready");
    const passages = await scene.passages();
    expect(passages.length).toBeGreaterThan(4);
    expect(passages.at(-1)?.end_offset).toBe(body.length);
    const found = await scene.search.find("automobile", { userId: toAccountId("u") });
    expect(found).toMatchObject([{ documentId: ID }]);
    expect(found[0]?.passage).toContain("garage");
    expect(await scene.search.find("automobile", { userId: toAccountId("other") })).toEqual([]);
  });

  test.each<AiBehaviour>([
    "mixed_dimensions",
    "too_few_vectors",
    "zero_vectors",
    "huge",
    "not_json",
    "not_a_number",
    "gzip_bomb",
    "event_stream",
    "nested",
  ])(
    "fails permanently when the provider answers with %s, and stores nothing",
    async (behaviour) => {
      await using scene = await openIndex("The car. ".repeat(300));
      server.behaviour = behaviour;
      await expect(scene.run()).rejects.toBeInstanceOf(PermanentJobError);
      expect(await scene.passages()).toEqual([]);
      await scene.abandon();
      expect(await scene.status()).toBe("failed");
    },
  );

  test.each<AiBehaviour>(["hangs", "unavailable", "limited", "closes", "trickles", "redirects"])(
    "is tried again when the provider is away: %s",
    async (behaviour) => {
      await using scene = await openIndex("The car.");
      server.behaviour = behaviour;
      const failure = await scene.run().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      expect(failure).not.toBeInstanceOf(PermanentJobError);
      server.behaviour = "answers";
      await scene.run();
      expect(await scene.status()).toBe("ready");
    },
  );

  test("is found when the driver returns its vectors inside a larger buffer, as PostgreSQL's does", async () => {
    await using scene = await openIndex("The car is in the garage.");
    await scene.run();
    const db = {
      ...scene.db,
      all: async (...args: Parameters<typeof scene.db.all>) =>
        (await scene.db.all(...args)).map((row) =>
          row["embedding"] instanceof Uint8Array
            ? { ...row, embedding: Buffer.concat([Buffer.alloc(8), row["embedding"]]).subarray(8) }
            : row,
        ),
    } as typeof scene.db;
    const search = createSemanticSearch({ db, embedder: scene.embedder });
    const [found] = await search.find("automobile", { userId: toAccountId("u") });
    expect(found?.score).toBeCloseTo(
      (await scene.search.find("automobile", { userId: toAccountId("u") }))[0]?.score ?? 0,
    );
    expect(found?.score).toBeGreaterThan(0.5);
  });

  test("fails permanently when the provider does not name the text of a vector", async () => {
    await using scene = await openIndex("The car. ".repeat(300), "openai");
    server.behaviour = "one_index";
    await expect(scene.run()).rejects.toBeInstanceOf(PermanentJobError);
    server.behaviour = "answers";
    await scene.run();
    expect(await scene.status()).toBe("ready");
  });

  test("refuses vectors of another dimension than the model has", async () => {
    await using scene = await openIndex("The car.");
    await scene.run();
    server.dimensions = 9;
    await expect(scene.run()).rejects.toBeInstanceOf(PermanentJobError);
    expect(await scene.passages()).toHaveLength(1);
    await expect(scene.search.find("car", { userId: toAccountId("u") })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("under the same name"),
    });
  });

  test("keeps the passages while the key of the provider cannot be read, and tells so", async () => {
    await using scene = await openIndex("some text");
    await scene.run();
    scene.key.isReadable = false;
    await expect(scene.run()).rejects.toThrow("cannot be read");
    expect(await scene.passages()).toHaveLength(1);
    const store = await scene.index.prepare();
    await scene.db.transaction((tx) => store(tx, { documentId: ID }, "other text"));
    expect([await scene.status(), (await scene.passages()).length]).toEqual(["pending", 1]);
    await expect(scene.search.find("text", { userId: toAccountId("u") })).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("is not tried again before the time that a provider with a limit names", async () => {
    await using scene = await openIndex("The car.");
    server.behaviour = "limited";
    await expect(scene.run()).rejects.toMatchObject({
      name: "RetryLaterError",
      waitMs: AI_RETRY_AFTER_S * 1000,
    });
  });
});

test("an embedding of more than 4,096 dimensions is refused", async () => {
  await using scene = await openIndex("x");
  server.dimensions = 4097;
  const model = (await scene.embedder.findModel()) as EmbeddingModel;
  expect(await scene.embedder.embed(model, ["x"])).toMatchObject({
    kind: "failed",
    code: "invalid_answer",
  });
});

test("passages cover a text without gaps and are bounded", () => {
  expect(toPassages("")).toEqual([]);
  expect(toPassages(" \n … ")).toEqual([]);
  for (const text of ["word ".repeat(5_000), "x".repeat(5_000), "😀".repeat(3_000) + "a"]) {
    const parts = toPassages(text);
    for (const { start, end } of parts) {
      expect(end - start).toBeLessThanOrEqual(1_000);
      expect(text.slice(start, end).isWellFormed()).toBe(true);
    }
  }
  expect(toPassages("word ".repeat(1_000_000))).toHaveLength(200);
});

test("texts that two lists rank high come first", () => {
  const match = (entryId: number) => ({
    entryId,
    documentId: toDocumentId(String(entryId)),
    itemId: undefined,
    score: 1,
    passage: "",
  });
  const fused = fuseRanks([match(1), match(2)], [match(3), match(2)]);
  expect(fused.map(({ entryId }) => entryId)).toEqual([2, 3, 1]);
});
