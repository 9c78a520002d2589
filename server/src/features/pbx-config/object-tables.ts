import type { Generated } from 'kysely';

export interface ObjectTables {
  /** Never used again for another object. */
  config_identities: { id: Generated<number>; kind: string; key: string };
  /** `body` is JSON, secrets with it; `until_version` is null for what holds now. */
  config_objects: {
    id: number;
    kind: string;
    key: string;
    body: string;
    since_version: number;
    until_version: number | null;
  };
  config_holders: { extension: string; person: number; since_ms: number };
  config_versions: {
    version: Generated<number>;
    author: string;
    comment: string | null;
    at: number;
    /** How many objects it changed. */
    objects: number;
  };
  /** What differs from the newest version; a null body takes the object away. */
  config_draft: {
    kind: string;
    key: string;
    id: number | null;
    body: string | null;
    author: string;
    at: number;
  };
}
