/** Parts that the pages of connectors share. */
import type { ReactNode } from 'react';
import { Badge } from '@mantine/core';
import type { Client } from '@offhook/client';
import type { Connector } from '@offhook/contract/connectors.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('connectors');

/** Every key of connectors is below this one. */
export const CONNECTORS = 'connectors';
/** Reload interval of the state, which is in no topic of the stream. */
export const FOLLOW_MS = 2_000;
export const connectorPath = (id: number): string => PAGE_PATHS.connector.replace(':connector', String(id));
export const filesQuery = (client: Client) => ({
  queryKey: ['connector-files'],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
    (await client.connectors.files(signal)).files,
});

const COLOURS = {
  ready: 'green',
  away: 'yellow',
  disconnected: 'red',
  broken: 'red',
  disabled: 'gray',
} as const;
export const StateBadge = ({ state }: Pick<Connector, 'state'>): ReactNode => (
  <Badge color={COLOURS[state]} variant="dot" tt="none">
    {t(`is_${state}`)}
  </Badge>
);
