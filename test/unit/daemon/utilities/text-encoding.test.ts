import { describe, expect, test } from "vitest";
import { decodeIfText, decodeText } from "../../../../daemon/utilities/text-encoding.ts";

describe("text without a declared encoding", () => {
  test.each([
    ["IBM866", "91aea1e0a0ada8a520a6a8abece6aea2", "Собрание жильцов"],
    [
      "GB18030",
      "bdf1cceccfc2cee7c8fdb5e3bfaabbe12cc7ebb4f3bcd2d7bccab1b2cebcd3a1a3",
      "今天下午三点开会,请大家准时参加。",
    ],
    [
      "Big5",
      "a4b5a4d1a455a4c8a454c249b67db77c2cbdd0a46aae61b7c7aec9b0d1a55ba143",
      "今天下午三點開會,請大家準時參加。",
    ],
    [
      "EUC-KR",
      "bfc0b4c320bfc0c8c420bcbc20bdc3bfa120c8b8c0c7b0a120c0d6bdc0b4cfb4d92e",
      "오늘 오후 세 시에 회의가 있습니다.",
    ],
    [
      "Windows-1253",
      "c720f3f5eddcedf4e7f3e720f4f9ed20eae1f4efdfeaf9ed",
      "Η συνάντηση των κατοίκων",
    ],
    ["Windows-1251", "d1eee1f0e0ede8e520e6e8ebfcf6eee2", "Собрание жильцов"],
    ["KOI8-R", "f3cfc2d2c1cec9c520d6c9ccd8c3cfd720d320d7c5dec5d2c1", "Собрание жильцов с вечера"],
    [
      "EUC-JP",
      "cbdcc6fca4ceb2f1b5c4a4cfbbb0bbfea4aba4e9a4c7a4b9a1a3",
      "本日の会議は三時からです。",
    ],
    [
      "Shift_JIS",
      "967b93fa82cc89ef8b6382cd8e4f8e9e82a982e782c582b78142",
      "本日の会議は三時からです。",
    ],
    [
      "Windows-1255",
      "e4f4e2e9f9e420fafaf7e9e9ed20e1e9e5ed20f9e9f9e920e1f2f8e1",
      "הפגישה תתקיים ביום שישי בערב",
    ],
    ["Windows-1256", "c7e1c7cccae3c7da20ede6e320c7e1cce3dac920e3d3c7c1", "الاجتماع يوم الجمعة مساء"],
    [
      "Windows-874",
      "a1d2c3bbc3d0aad8c1b6d9a1e0c5d7e8cdb9cdcda1e4bbe0bbe7b9cad1bbb4d2cbec",
      "การประชุมถูกเลื่อนออกไปเป็นสัปดาห์",
    ],
    [
      "UTF-16 of Cyrillic",
      "21043e043104400430043d04380435042000360438043b044c0446043e0432042e00",
      "Собрание жильцов.",
    ],
    [
      "ISO-8859-2",
      "5a656272616e6965206d6965737a6b61f163f377206f6462ea647a6965207369ea2077207069b174656b2c2070726f737aea206f2070727a796279636965206e6120637a61732e",
      "Zebranie mieszkańców odbędzie się w piątek, proszę o przybycie na czas.",
    ],
  ])("is read as %s", (_name, hex, text) => {
    expect(decodeText(Buffer.from(hex, "hex"))).toBe(text);
  });

  test("is Western where nothing suggests another encoding, and ISO-2022-JP by its escapes", () => {
    for (const text of [
      "Größe der Straße",
      "Réunion à Évry",
      "¿La reunión será mañana?",
      "Möte på ön",
      "naïve",
    ])
      expect(decodeText(Buffer.from(text, "latin1"))).toBe(text);
    expect(decodeText(Buffer.from("1b2442467c4b5c1b2842", "hex"))).toBe("日本");
  });

  test("is shown on a page if it has no NUL, or is in UTF-16", () => {
    expect(decodeIfText(Buffer.from("\ufeffa;ä\n1;2\n", "utf16le"))).toBe("a;ä\n1;2\n");
    expect(decodeIfText(Buffer.from("a\0b"))).toBeUndefined();
  });
});
