import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { Connector } from '@offhook/contract/connectors.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { CONNECTORS } from './parts.tsx';

const t = wordsOf('connectors');

/** Asks the system for the customers with a number, as a call would. */
export function NumberTrial({ connector: { id, system } }: { readonly connector: Connector }): ReactNode {
  const client = useClient();
  const [number, setNumber] = useState('');
  // The answer may change the state of the connector.
  const trial = useChange(() => client.connectors.lookup({ number }), { renews: [CONNECTORS] });
  const found = trial.data?.matches.find((one) => one.connector === id);
  const why = trial.data?.e164 === null ? t('no_e164') : (found?.words ?? null);
  const labels = { number: t('number') };
  return (
    <Section title={t('lookup')} text={t('lookup_text', { system })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          trial.mutate(undefined);
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            type="tel"
            {...fieldsWith(trial.error, labels)('number')}
            required
            maxLength={64}
            value={number}
            onChange={(event) => setNumber(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={trial.isPending}>
            {t('look_up')}
          </Button>
        </Group>
      </form>
      <Stack role="status" gap="xs" mt={trial.data === undefined ? 0 : 'md'}>
        {why !== null && <Text c="red.9">{why}</Text>}
        {why === null && found?.customers.length === 0 && <Text>{t('nobody')}</Text>}
        {found?.customers.map(({ id: customer, name, company, numbers, url }) => (
          <div key={customer}>
            <Text fw={600}>
              {url === null ? (
                name
              ) : (
                <Anchor href={url} target="_blank" rel="noopener noreferrer" inherit>
                  {name}
                </Anchor>
              )}
            </Text>
            <Text size="sm">{[company ?? '', ...numbers].filter(Boolean).join(' · ')}</Text>
          </div>
        ))}
      </Stack>
      {trial.error !== null && <Failure error={trial.error} labels={labels} />}
    </Section>
  );
}
