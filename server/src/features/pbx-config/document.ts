import { documentField } from '@offhook/contract/config.ts';
import type { ConfigDocument } from '@offhook/contract/config.ts';
import { CONFIG_SECRETS, KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import type { Model, StoredObject } from './model.ts';

/** An object without its secrets. */
export const shownBody = ({ kind, body }: StoredObject): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !CONFIG_SECRETS[kind].includes(name)));

/** The whole model without secrets; equal models give equal documents. O(objects). */
export const toDocument = (model: Model): ConfigDocument =>
  ({
    offhook: 1,
    ...Object.fromEntries(
      KINDS.map((kind) => [
        documentField(kind),
        [...(model.of(kind) as ReadonlyMap<string, StoredObject>).values()].map(shownBody),
      ]),
    ),
  }) as ConfigDocument;

/** Every object of a document, in order of kind. */
export function* objectsOf(document: ConfigDocument): Generator<readonly [ConfigKind, unknown]> {
  for (const kind of KINDS) {
    const list = document[documentField(kind)];
    if (Array.isArray(list)) for (const object of list as readonly unknown[]) yield [kind, object];
  }
}
