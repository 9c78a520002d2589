/** Differences of objects, field by field. */
import type { ReactNode } from 'react';
import { Group, Paper, Stack, Table, Text } from '@mantine/core';
import type { ObjectChange } from '@offhook/contract/config-applies.ts';
import { fieldLabel } from './field-words.ts';
import { ObjectLink } from './object-form.tsx';
import { PendingBadge } from './pending.tsx';
import { Value } from './value.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

interface ObjectChangesProps {
  readonly changes: readonly ObjectChange[];
  /** Author of the change, and its actions. */
  readonly beside?: (change: ObjectChange) => ReactNode;
}
export const ObjectChanges = ({ changes, beside }: ObjectChangesProps): ReactNode => (
  <Stack gap="sm">
    {changes.map((change) => (
      <Paper key={`${change.kind}/${change.key}`} withBorder p="sm" component="article">
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <PendingBadge pending={change.change} />
            <Text fw={600} size="sm">
              <ObjectLink kind={change.kind} name={change.key} />
            </Text>
          </Group>
          {beside?.(change)}
        </Group>
        {change.change !== 'removed' && change.fields.length > 0 && (
          <Table verticalSpacing={4} fz="sm" mt={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th w="30%">{t('field')}</Table.Th>
                {change.change === 'changed' && <Table.Th w="35%">{t('before')}</Table.Th>}
                <Table.Th>{t(change.change === 'changed' ? 'after' : 'value')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {change.fields.map((field) => (
                <Table.Tr key={field.field}>
                  <Table.Th scope="row" fw={500}>
                    {fieldLabel(change.kind, field.field)}
                  </Table.Th>
                  {field.secret ? (
                    <Table.Td colSpan={2}>{t('secret_changed')}</Table.Td>
                  ) : (
                    <>
                      {change.change === 'changed' && (
                        <Table.Td>
                          <Value kind={change.kind} name={field.field} value={field.before} />
                        </Table.Td>
                      )}
                      <Table.Td>
                        <Value kind={change.kind} name={field.field} value={field.after} />
                      </Table.Td>
                    </>
                  )}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Paper>
    ))}
  </Stack>
);
