import './turn.ts' // circular
