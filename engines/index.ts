// The engines that llmgw knows.
import type { Engine } from './engine.ts'
import { llamacpp } from './llamacpp.ts'

export const engines: readonly Engine[] = [llamacpp]

export const engineByName = (name: string): Engine | undefined =>
  engines.find((engine) => engine.name === name)
