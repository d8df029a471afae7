"""What bench files are written with: Suite, Step, Ops and inputs. Importing it does not import torch."""
