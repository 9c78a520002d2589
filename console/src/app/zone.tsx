import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { consoleSettingsQuery } from './queries.ts';
import { useClient } from './session.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

/** Local time of a zone at a moment. */
const clockIn = (timeZone: string | undefined, ms: number): string =>
  new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(ms);
/** True if both zones have the same local time now, this winter and this summer. */
function same(a: string, b: string): boolean {
  const year = new Date().getUTCFullYear();
  return [Date.UTC(year, 0, 10), Date.UTC(year, 6, 10), Date.now()].every(
    (ms) => clockIn(a, ms) === clockIn(b, ms),
  );
}
/** A note where the reader's zone differs from the site's. */
export function ZoneNote(): ReactNode {
  const client = useClient();
  const { data } = useQuery(consoleSettingsQuery(client));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const site = data?.site_zone;
  if (site === undefined || same(own, site)) return null;
  return (
    <Text size="xs" c="dimmed">
      {t('zone', { own, site })}
    </Text>
  );
}
