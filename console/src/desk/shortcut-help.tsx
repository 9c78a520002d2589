import type { ReactNode } from 'react';
import { Kbd, Modal, Stack, Switch, Table, Text } from '@mantine/core';
import { SHORTCUTS, setShortcuts, useShortcutsOn } from './shortcuts.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('desk');

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const on = useShortcutsOn();
  return (
    <Modal opened onClose={onClose} title={t('help')}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('help_text')}
        </Text>
        <Switch
          label={t('shortcuts_on')}
          checked={on}
          onChange={(event) => setShortcuts(event.currentTarget.checked)}
        />
        <Table withRowBorders={false} verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={70}>{t('key')}</Table.Th>
              <Table.Th>{t('action')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {Object.entries(SHORTCUTS).map(([key, word]) => (
              <Table.Tr key={key}>
                <Table.Td>
                  <Kbd>{key.toUpperCase()}</Kbd>
                </Table.Td>
                <Table.Td>{t(word)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Stack>
    </Modal>
  );
}
