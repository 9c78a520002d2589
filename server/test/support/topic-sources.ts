import { TOPIC_NOUNS } from '@offhook/contract/stream.ts';
import type { TopicSource, TopicSources } from '../../src/ports/stream.ts';

/** A source for every topic; a test replaces those it is about. */
export const sourcesOf = (source: (noun: string) => TopicSource): TopicSources =>
  Object.fromEntries(TOPIC_NOUNS.map((noun) => [noun, source(noun)])) as TopicSources;
