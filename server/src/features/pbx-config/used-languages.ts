import { allObjects } from './model.ts';
import type { Model } from './model.ts';

/** Kinds of objects with a language of prompts; that of a phone is of its display. */
const SPEAKING: ReadonlySet<string> = new Set(['extension', 'trunk', 'inbound_route', 'settings']);

/** Languages of prompts that objects of these models name. O(objects). */
export function usedLanguages(models: readonly Model[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const model of models)
    for (const { kind, body } of allObjects(model)) {
      const { language } = body as { readonly language?: string | null };
      if (SPEAKING.has(kind) && typeof language === 'string') found.add(language);
    }
  return found;
}
