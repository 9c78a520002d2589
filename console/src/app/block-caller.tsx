import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { Ban } from 'lucide-react';
import { useChange } from './page-parts.tsx';
import { CUSTOMERS } from './queries.ts';
import { useClient, useMay } from './session.tsx';
import { Failure } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('customer');

/** Blocks the number of a caller for the whole site. */
export function BlockCaller({ number }: { readonly number: string }): ReactNode {
  const client = useClient();
  const [asks, setAsks] = useState(false);
  const mayBlock = useMay('agent');
  const block = useChange(() => client.callerRules.create({ number }), {
    renews: [CUSTOMERS],
    done: () => t('blocked_now', { number }),
    onDone: () => setAsks(false),
  });
  if (!mayBlock || !/^\+?\d{3,}$/.test(number)) return null;
  return (
    <>
      <Button
        variant="default"
        leftSection={<Ban size={16} aria-hidden />}
        onClick={() => setAsks(true)}
        style={{ alignSelf: 'flex-start' }}
      >
        {t('block')}
      </Button>
      <Modal opened={asks} onClose={() => setAsks(false)} title={t('block')}>
        <Stack>
          <Text>{t('block_ask', { number })}</Text>
          {block.error !== null && <Failure error={block.error} />}
          <Group justify="flex-end">
            <Button color="red" loading={block.isPending} onClick={() => block.mutate(undefined)}>
              {t('block')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
