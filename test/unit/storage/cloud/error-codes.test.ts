import { expect, test } from "vitest";
import { toDropboxFailure } from "../../../../storage/cloud/dropbox/failures.ts";
import { toDriveFailure } from "../../../../storage/cloud/google-drive/failures.ts";
import { toGraphFailure } from "../../../../storage/cloud/onedrive/failures.ts";
import { toFailure } from "../../../../storage/s3/failures.ts";
import type { ProviderAnswer } from "../../../../storage/cloud/transport.ts";

// The note of an adapter about a failure goes to the log: only codes of the provider, nothing else of its response.

const notes: Record<string, (code: string) => Promise<{ readonly note?: string }>> = {
  s3: async (code) => toFailure({ status: 400, code }, 0),
  dropbox: async (code) => toDropboxFailure(head, { error: { ".tag": "path", path: code } }, 0),
  onedrive: async (code) => toGraphFailure(head, { error: { code } }, 0),
  google_drive: async (code) => {
    const text = JSON.stringify({ error: { errors: [{ reason: code }], message: code } });
    const answer = { ...head, text: async () => ({ kind: "ok", text }) };
    return toDriveFailure(answer as unknown as ProviderAnswer, 0);
  },
};
const head = { status: 409, headers: {} };

test.each(Object.entries(notes))(
  "notes an error code of %s, but no text that may be a secret",
  async (_type, noteOf) => {
    expect((await noteOf("SomethingNew")).note).toContain("SomethingNew");
    for (const secret of [
      "ya29a0AfBbyC1234567890",
      "sl_u_AFq3zZ9",
      "AKIAIOSFODNN7EXAMPLE",
      "https://u:p@host/",
      "a b",
      "x".repeat(61),
    ])
      expect((await noteOf(secret)).note ?? "", secret).not.toContain(secret);
  },
);
