import { access, constants } from 'node:fs/promises';
import path from 'node:path';

export interface Chromium {
  readonly path: string;
  readonly flags: readonly string[];
}
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** A Chromium to run: `CHROME_PATH`, or one on the PATH. */
export async function findChromium(): Promise<Chromium> {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const candidates = [
    process.env['CHROME_PATH'],
    ...NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))),
  ];
  for (const file of candidates) {
    if (!file) continue;
    const usable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return { path: file, flags: [] };
  }
  throw new Error('no Chromium: set CHROME_PATH, or put chromium on the PATH');
}
