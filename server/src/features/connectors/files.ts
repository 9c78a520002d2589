import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { ConnectorFileInfo } from '@offhook/contract/connectors.ts';
import { loadConnector } from './format/load.ts';
import type { ConnectorFile, LoadedConnector } from './format/load.ts';

/** Limit of files listed from each folder. */
const MAX_FILES = 200;
const NAME = /^[a-z0-9][a-z0-9-]{0,63}\.yaml$/;
const OWN = 'own/';

/** Connector files of the release, and those of the site with keys `own/…`. */
export interface ConnectorFolders {
  /** Text of the file; null if it cannot be read. */
  read(key: string): Promise<string | null>;
  list(): Promise<ConnectorFileInfo[]>;
}
export function createConnectorFolders(folders: {
  readonly release: string;
  readonly own: string;
}): ConnectorFolders {
  const fileOf = (key: string): string =>
    key.startsWith(OWN)
      ? path.join(folders.own, `${key.slice(OWN.length)}.yaml`)
      : path.join(folders.release, `${key}.yaml`);
  const read = (key: string): Promise<string | null> => readFile(fileOf(key), 'utf8').catch(() => null);
  async function keys(folder: string, prefix: string): Promise<string[]> {
    const names = await readdir(folder).catch(() => []);
    const found = names.filter((name) => NAME.test(name)).toSorted();
    return found.slice(0, MAX_FILES).map((name) => prefix + name.slice(0, -'.yaml'.length));
  }
  return {
    read,
    async list() {
      const all = [...(await keys(folders.release, '')), ...(await keys(folders.own, OWN))];
      const infos = all.map(async (key): Promise<ConnectorFileInfo[]> => {
        const source = await read(key);
        return source === null ? [] : [infoOf(key, loadConnector(source))];
      });
      return (await Promise.all(infos)).flat();
    },
  };
}

/** Capabilities of a file, in the order of the format. */
export const verbsOf = ({ document }: ConnectorFile): string[] =>
  (['lookup', 'create', 'entry', 'pop', 'push', 'users', 'sync', 'inbox'] as const).filter(
    (verb) => document[verb] !== undefined,
  );

function infoOf(key: string, { file, findings }: LoadedConnector): ConnectorFileInfo {
  const wrong = findings.map(({ path: at, line, reason }) => ({ path: at, line, reason }));
  if (file === null)
    return { key, name: key, about: null, tried: false, verbs: [], settings: [], findings: wrong };
  const { name, about, tried, settings } = file.document;
  return {
    key,
    name,
    about: about ?? null,
    tried: tried === 'real system',
    verbs: verbsOf(file),
    settings: Object.entries(settings).map(([setting, { text, secret, url, initial }]) => ({
      name: setting,
      text,
      secret,
      url,
      initial: initial ?? null,
    })),
    findings: [],
  };
}
