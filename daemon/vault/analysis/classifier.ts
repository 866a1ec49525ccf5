import { foldText } from "../../../storage/tables/vault/search-terms.ts";

/** A topic that a text may belong to. */
export interface TopicCandidate {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Texts that already have the topic. */
  readonly examples: readonly string[];
}

/** The topic that fits a text best. */
export interface ClassifiedTopic {
  readonly topicId: string;
  readonly topic: string;
  /** From 0 to 1. */
  readonly confidence: number;
  /** The words that decided, most important first. */
  readonly words: readonly string[];
}

/** Weights: a word of a topic's name counts more than one of its description, and that more than one of an example. */
const NAME_WEIGHT = 4;
const DESCRIPTION_WEIGHT = 2;
const EXAMPLE_WEIGHT = 1;
/** Number of words at the beginning of a text that are read; its subject is usually clear from them. */
const TEXT_CHARACTERS_MAX = 200_000;
const WORD_LENGTH_MIN = 3;
/** A lower score is likely chance. */
const SCORE_MIN = 2;
const WORDS_SHOWN = 5;
/** Frequent words of an example that are taken as typical of its topic. */
const EXAMPLE_WORDS_MAX = 100;

/**
 * Classifies a text by the words that it shares with each topic: words of the name, the description, and of texts that
 * have the topic. A word that several topics share counts less. Deterministic: equal input gives an equal answer.
 * Returns undefined when no topic fits.
 */
export function classify(
  text: string,
  topics: readonly TopicCandidate[],
): ClassifiedTopic | undefined {
  const counts = countWords(text.slice(0, TEXT_CHARACTERS_MAX));
  const profiles = topics.map((topic) => ({ topic, weights: toWeights(topic) }));
  const spread = new Map<string, number>();
  for (const { weights } of profiles)
    for (const word of weights.keys()) spread.set(word, (spread.get(word) ?? 0) + 1);
  const scored = profiles
    .map(({ topic, weights }) => {
      const parts = [...weights].flatMap(([word, weight]) => {
        const count = counts.get(word);
        if (count === undefined) return [];
        const rarity = Math.log(1 + (topics.length + 1) / (spread.get(word) ?? 1));
        return [{ word, score: weight * rarity * (1 + Math.log(count)) }];
      });
      parts.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1));
      return { topic, parts, score: parts.reduce((sum, part) => sum + part.score, 0) };
    })
    .sort((a, b) => b.score - a.score || (a.topic.id < b.topic.id ? -1 : 1));
  const [best, second] = scored;
  if (best === undefined || best.score < SCORE_MIN) return undefined;
  const confidence = best.score / (best.score + (second?.score ?? 0) + SCORE_MIN);
  return {
    topicId: best.topic.id,
    topic: best.topic.name,
    confidence: Math.round(confidence * 1000) / 1000,
    words: best.parts.slice(0, WORDS_SHOWN).map(({ word }) => word),
  };
}

function toWeights({ name, description, examples }: TopicCandidate): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (words: Iterable<string>, weight: number) => {
    for (const word of words) weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  };
  for (const example of examples) {
    const frequent = [...countWords(example)]
      .sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
      .slice(0, EXAMPLE_WORDS_MAX);
    add(
      frequent.map(([word]) => word),
      EXAMPLE_WEIGHT / Math.max(1, examples.length / 2),
    );
  }
  add(countWords(description).keys(), DESCRIPTION_WEIGHT);
  add(countWords(name).keys(), NAME_WEIGHT);
  return weights;
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of foldText(text).split(" "))
    if (word.length >= WORD_LENGTH_MIN && !STOP_WORDS.has(word) && !/^\p{N}+$/u.test(word))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/**
 * Stop words: frequent words of English, German, French and Spanish, and extensions of file names, which would file a text
 * with others of its format.
 */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `the and for are but not you all any can had her was one our out has him his how its may new now old see two way who
  with this that from they have been will your what when which their there about would these other into more than then
  them some such only over also after before were said each she
  der die das und ist nicht mit von den dem des ein eine einer eines auf fur als auch bei nach aus wie noch nur zum zur
  sich wird sind war werden uber oder aber wenn dass
  les des une est pas pour que qui dans sur avec par plus son ses aux ont ete sont cette
  los las una por con para como mas sus del entre desde
  txt pdf doc docx xls xlsx ppt pptx odt ods odp rtf csv htm html json xml eml epub fb2 md jpg jpeg png gif tif tiff webp`.split(
    /\s+/,
  ),
);
